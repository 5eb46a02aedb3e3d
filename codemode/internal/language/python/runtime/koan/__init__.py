"""What scripts import: `koan.errors`."""
