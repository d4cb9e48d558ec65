/** How a try to deliver an event ended. */
export type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | {
      readonly kind: "failed";
      /** Short, without an address or anything the receiver wrote. */
      readonly error: string;
      /** What the receiver asked to wait. */
      readonly retryAfterSeconds?: number | undefined;
    }
  /** The receiver wants no more of it. */
  | { readonly kind: "refused"; readonly error: string }
  /** Given up by us; it does not count as a try. */
  | { readonly kind: "untried" };
