"""Reading and writing tables: CSV, Parquet, Arrow, frames; batches in bounded memory."""
