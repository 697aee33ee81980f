/* Nothing: its name is what counts. */
extern const int sanitize_stand_in;
const int sanitize_stand_in = 1;
