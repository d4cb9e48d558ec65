import { decodeBase64Text, encodeBase64Text } from "../../../lib/text/base64-text.ts";

/** The ids that clients of this format accept. */
const FITTING = /^[a-zA-Z0-9_-]+$/;
const MARK = "toolu_enc_";

/**
 * Returns a call's id as clients of this format see it. An id they would refuse is encoded, so that the engine gets the
 * original back.
 */
export function writeToolId(callId: string): string {
  return FITTING.test(callId) ? callId : MARK + encodeBase64Text(callId);
}

/** Returns the id as the engine knows it. */
export function readToolId(id: string): string {
  if (!id.startsWith(MARK)) return id;
  const callId = decodeBase64Text(id.slice(MARK.length));
  // Another vendor's id may start with the same mark.
  return callId !== undefined && writeToolId(callId) === id ? callId : id;
}
