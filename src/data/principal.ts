/** Who reads data: a BI key, or a logged-in user over HTTP. */
export interface Principal {
  /** `bik_…` or `usr_…`. */
  readonly id: string;
  /** The name of the key or the user, for log lines and for `application_name`. */
  readonly name: string;
  /** Names of the views in the schema `data` that it may read now. */
  readonly views: readonly string[];
  /** Rows that one statement may bring. */
  readonly rowLimit: number;
  /** Seconds that one statement may take. */
  readonly timeoutSeconds: number;
  /** Connections to the port at once. */
  readonly maxConnections: number;
  /** Unix milliseconds; null means that it never expires. */
  readonly expiresAt: number | null;
}

/** How the data process logs in to the PostgreSQL server that a principal reads from; null on the embedded copy. */
export interface UpstreamLogin {
  /** A PostgreSQL URL with the role, its password, the database, and TLS parameters. */
  readonly url: string;
}

/** Why somebody may not log in, or not read now. */
export interface AdmissionRefusal {
  /** SQLSTATE: 28P01 for a key that is unknown, revoked or expired, 28000 for an address or a license, 58000 else. */
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export type Admission =
  | {
      readonly principal: Principal;
      readonly login: UpstreamLogin | null;
      readonly refusal?: undefined;
    }
  | { readonly refusal: AdmissionRefusal };
