import { encodeError } from "../../codecs/messages/server/encode-error.ts";
import type { ErrorForm } from "../answers/error-response.ts";
import { messagesLimitHeaders } from "./headers/messages-limit-headers.ts";

/** The status of an overloaded vendor, after which clients of this family wait longer. */
const OVERLOADED = 529;

/** The messages form, which everything under `/v1/messages` uses. */
export const messagesErrorForm: ErrorForm = {
  encode: encodeError,
  statusOf: ({ status, upstreamStatus }) => (upstreamStatus === OVERLOADED ? OVERLOADED : status),
  requestIdHeader: "request-id",
  sayLimits: messagesLimitHeaders,
};
