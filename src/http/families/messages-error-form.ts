import { encodeError } from "../../codecs/messages/server/encode-error.ts";
import type { ErrorForm } from "../answers/error-response.ts";
import { messagesLimitHeaders } from "./messages-limit-headers.ts";

/** The status of a vendor that has too much to do, which clients of this family wait for longer. */
const OVERLOADED = 529;

/** The messages form, which everything under `/v1/messages` speaks. */
export const messagesErrorForm: ErrorForm = {
  encode: encodeError,
  statusOf: ({ status, upstreamStatus }) => (upstreamStatus === OVERLOADED ? OVERLOADED : status),
  requestIdHeader: "request-id",
  sayLimits: messagesLimitHeaders,
};
