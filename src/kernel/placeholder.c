/* Empty until the first file of this folder lands. */
typedef int qh_kernel_placeholder;
