"""The store: one DuckDB file for what the machine computes, Parquet files for the long texts (DESIGN.md section 5)."""
