/** Who calls. Made once by authentication, immutable, safe to share between requests. */
export interface Caller {
  readonly kind: "key";
  readonly keyId: string;
  readonly ownerId: string;
  /** The client's tools and messages reach the model unchanged. */
  readonly passthrough: boolean;
}
