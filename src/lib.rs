pub mod keeper;
