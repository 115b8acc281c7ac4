/* Empty until the first file of this folder lands. */
typedef int qh_record_placeholder;
