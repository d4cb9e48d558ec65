import { chatErrorForm, type ErrorForm } from "../answers/error-response.ts";
import { messagesErrorForm } from "../families/messages-error-form.ts";

/** Also with the `/v1` twice, as a client sends it whose base URL ends in one too many. */
const MESSAGES_PATH = /^\/v1(?:\/v1)?\/messages(?:\/|$)/;

/** True for what clients of the messages family ask for. */
export function isMessagesPath(path: string): boolean {
  return MESSAGES_PATH.test(path);
}

/** The form of errors that clients of this path read. */
export function errorFormAt(path: string): ErrorForm {
  return isMessagesPath(path) ? messagesErrorForm : chatErrorForm;
}
