"""View-models as Plotly figures. No streamlit here, and no numbers that a view-model does not hold."""
