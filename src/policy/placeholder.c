/* Empty until the first file of this folder lands. */
typedef int qh_policy_placeholder;
