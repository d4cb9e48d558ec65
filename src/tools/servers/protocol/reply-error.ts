import { hideAddresses } from "../../../lib/text/hide-addresses.ts";
import { cleanText } from "../clean/clean-text.ts";
import type { ReplyError } from "./json-rpc.ts";

const MAX_SHOWN = 1_000;

/** Returns the text of a tool server's error for administrators and models. */
export function describeError({ code, message }: ReplyError): string {
  const text = hideAddresses(cleanText(message.slice(0, MAX_SHOWN)), MAX_SHOWN).trim();
  return text === "" ? `error ${code}` : `${text} (error ${code})`;
}
