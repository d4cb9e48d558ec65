import { decodeBase64Text, encodeBase64Text } from "../../../lib/base64-text.ts";

/** The ids that clients of this format take. */
const FITTING = /^[a-zA-Z0-9_-]+$/;
const MARK = "toolu_enc_";

/** A call's id as clients of this format see it. One they would not take is encoded: the engine gets it back as it was. */
export function writeToolId(callId: string): string {
  return FITTING.test(callId) ? callId : MARK + encodeBase64Text(callId);
}

/** The id as the engine knows it. */
export function readToolId(id: string): string {
  if (!id.startsWith(MARK)) return id;
  const callId = decodeBase64Text(id.slice(MARK.length));
  // Another's id may begin like one of ours.
  return callId !== undefined && writeToolId(callId) === id ? callId : id;
}
