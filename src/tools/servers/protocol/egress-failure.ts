import { EgressError, type EgressReason } from "../../../lib/egress/egress-error.ts";
import { ToolServerFailure, type ToolServerReason } from "../client/tool-server-failure.ts";

const UNREACHABLE =
  "The tool server is unreachable or closed the connection. Check that it runs and that its URL is right.";

const FAILURES: Readonly<Partial<Record<EgressReason, readonly [ToolServerReason, string]>>> = {
  invalid_url: ["invalid_url", "The tool server's URL is not an http or https address."],
  credentials: [
    "invalid_url",
    "The tool server's URL holds a user name or a password. Put credentials into a header.",
  ],
  invalid_header: [
    "invalid_url",
    "One of the tool server's headers cannot be sent. Use visible ASCII characters.",
  ],
  certificate: [
    "unreachable",
    "The tool server's certificate is invalid, is for another host or comes from an unknown authority. NODE_EXTRA_CA_CERTS names further authorities.",
  ],
  unknown_host: ["unreachable", "The tool server's host cannot be found. Check its URL."],
  forbidden: [
    "forbidden",
    "The tool server's URL points into a private or reserved network. Add its host to EGRESS_ALLOW if the gateway may access it.",
  ],
  too_large: ["too_large", "The tool server's answer is larger than 4 MiB."],
  timeout: ["timeout", "The tool server did not accept a connection in time."],
};

/** Describes an `EgressError` for administrators and models. Anything else is returned unchanged. */
export function toToolServerFailure(thrown: unknown): unknown {
  if (!(thrown instanceof EgressError)) return thrown;
  const [reason, message] = FAILURES[thrown.reason] ?? ["unreachable", UNREACHABLE];
  return new ToolServerFailure(reason, message, { cause: thrown });
}
