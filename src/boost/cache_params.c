typedef int rw_placeholder;
