import { flag, number } from "./setting-types.ts";

/** The console in the browser. */
export const consoleSettings = {
  CONSOLE_ENABLED: flag
    .prefault("1")
    .describe("Serve the browser console under /console, and send browsers there from /."),
  CHAT_HISTORY_LIMIT: number
    .min(0)
    .max(50)
    .default(50)
    .describe("Chats of the console that are kept for each user, 50 at most; 0 keeps none."),
};
