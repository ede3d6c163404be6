"""The app's page table: `streamlit run dashboard/app.py -- --config gradebook.toml`."""

from __future__ import annotations

import streamlit as st

from dashboard import text
from dashboard.widgets.page import ICON, frame

st.set_page_config(page_title=text.PRODUCT, page_icon=str(ICON), layout="wide")
opened = st.navigation(
    [
        st.Page("screens/overview.py", title="Overview", icon=":material/monitoring:", default=True),
        st.Page("screens/worst.py", title="Worst traces", icon=":material/troubleshoot:"),
        st.Page("screens/alerts.py", title="Alerts", icon=":material/notification_important:"),
        st.Page("screens/status.py", title="Data", icon=":material/database:", url_path="data"),
        st.Page("screens/trace.py", title="Trace", visibility="hidden"),
    ],
    position="top",
)
with frame():
    opened.run()
