import { BI_KEY_LIMITS } from "../access/bi-keys/bi-keys.ts";
import { BI_KEY, isUsableBiKey, type KnownBiKey } from "../access/bi-keys/known/known-bi-key.ts";
import type { KnownBiKeys } from "../access/bi-keys/known/known-bi-keys.ts";
import type { DataCaller, SessionCaller } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import { causeOf, type Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Admission, AdmissionRefusal, Principal, UpstreamLogin } from "./principal.ts";
import type { SchemaView as View } from "./views/data-view.ts";

/** How long the list of views is used again. A change by this replica ends that at once. */
const VIEWS_AGE_MS = 1_000;

export interface AdmissionOptions {
  readonly biKeys: Pick<KnownBiKeys, "find" | "byId" | "noteUse">;
  readonly listViews: () => Promise<readonly View[]>;
  /** Null on the embedded copy, which has no roles. Rejects with a `ServiceError` that says why there is no login. */
  readonly rolesLogin: (principal: Principal) => Promise<UpstreamLogin | null>;
  readonly isLicensed: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Decides who may read data now, and what. */
export interface Admissions {
  /**
   * Decides for the secret that a client sent to the PostgreSQL port, from this address. Notes the use of a key that is
   * let in. Never rejects.
   */
  readonly byKey: (secret: string, address: string) => Promise<Admission>;
  /**
   * Decides for a caller that authentication over HTTP has let in. Rejects with what listing the views or the login of
   * the role reject with, such as `storage_unavailable`.
   */
  readonly ofCaller: (caller: DataCaller) => Promise<Admission>;
  /** Call it when this replica has changed the views, so that the next admission has them. */
  readonly viewsChanged: () => void;
}

export function createAdmission({
  biKeys,
  listViews,
  rolesLogin,
  isLicensed,
  clock,
  log,
}: AdmissionOptions): Admissions {
  const views = keepViews(listViews, clock);

  const admit = async (principal: Principal): Promise<Admission> => ({
    principal,
    login: await rolesLogin(principal),
  });
  const admitKey = async (key: KnownBiKey): Promise<Admission> => {
    const admission = await admit(principalOfKey(key, await views.list()));
    // What the key had before must not be passed on: connections that are not open yet do not end with the change.
    return biKeys.byId(key.id)?.mark === key.mark ? admission : { refusal: CHANGED };
  };
  const login = async (secret: string, address: string): Promise<Admission> => {
    const key = BI_KEY.test(secret) ? await biKeys.find(secret) : undefined;
    if (key === undefined || !isUsableBiKey(key, clock.now())) return { refusal: UNUSABLE };
    if (key.ipAllow !== null && !key.ipAllow.has(address)) return { refusal: ADDRESS };
    if (!isLicensed()) return { refusal: UNLICENSED };
    const admission = await admitKey(key);
    if (admission.refusal === undefined) biKeys.noteUse(key.id, clock.now());
    return admission;
  };
  return {
    async byKey(secret, address) {
      try {
        return await login(secret, address);
      } catch (thrown) {
        if (thrown instanceof ServiceError) return { refusal: failure(thrown.message) };
        log.error({ cause: causeOf(thrown) }, "a login with a BI key failed");
        return { refusal: failure("The login failed by a fault of the server; its log says why.") };
      }
    },
    async ofCaller(caller) {
      if (!isLicensed()) return { refusal: UNLICENSED };
      if (caller.kind === "session") return admit(principalOfSession(caller, await views.list()));
      const key = biKeys.byId(caller.keyId);
      const isUsable = key !== undefined && isUsableBiKey(key, clock.now());
      return isUsable ? admitKey(key) : { refusal: UNUSABLE };
    },
    viewsChanged: views.forget,
  };
}

/** Lists the views once for all admissions of a second, because a tool may open ten connections at once. */
function keepViews(listViews: AdmissionOptions["listViews"], clock: Clock) {
  let kept: { readonly views: Promise<readonly View[]>; readonly at: number } | undefined;
  const forget = () => {
    kept = undefined;
  };
  return {
    forget,
    list(): Promise<readonly View[]> {
      const now = clock.now();
      if (kept !== undefined && Math.abs(now - kept.at) < VIEWS_AGE_MS) return kept.views;
      const listing = { views: listViews(), at: now };
      kept = listing;
      listing.views.catch(() => {
        if (kept === listing) forget();
      });
      return listing.views;
    },
  };
}

function principalOfKey(
  { id, name, views, expiresAt, rowLimit, timeoutSeconds, maxConnections }: KnownBiKey,
  all: readonly View[],
): Principal {
  const names = all.map((view) => view.name);
  return {
    ...{ id, name, expiresAt, rowLimit, timeoutSeconds, maxConnections },
    views: views === "all" ? names : names.filter((view) => views.has(view)),
  };
}

/** An administrator reads all views; a user the datasets that the user sees elsewhere, and nothing of other users. */
function principalOfSession(
  { ownerId, username, role }: SessionCaller,
  all: readonly View[],
): Principal {
  const isVisible = ({ dataset }: View) =>
    dataset !== null && (dataset.ownerId === ownerId || dataset.visibility === "everyone");
  const visible = role === "admin" ? all : all.filter(isVisible);
  return {
    ...BI_KEY_LIMITS,
    id: ownerId,
    name: username,
    views: visible.map(({ name }) => name),
    // Each call asks for the session again.
    expiresAt: null,
  };
}

/** The same for every secret that opens nothing, so that it does not reveal why. */
const UNUSABLE: AdmissionRefusal = {
  code: "28P01",
  message:
    "password authentication failed: the password is no BI key, or the key is inactive or expired",
  hint: "The password is the BI key, bk-…; user and database can be any. An administrator issues keys with POST /v1/bi-keys.",
};
const ADDRESS: AdmissionRefusal = {
  code: "28000",
  message: "this BI key may not be used from the address that the connection came from",
  hint: "An administrator lists the addresses in the key's ip_allow.",
};
const UNLICENSED: AdmissionRefusal = {
  code: "28000",
  message: "the license is over",
  hint: "An administrator uploads a license with POST /api/license.",
};
const CHANGED: AdmissionRefusal = {
  code: "58000",
  message: "the BI key was changed during the login",
  hint: "Connect again.",
};

function failure(message: string): AdmissionRefusal {
  return { code: "58000", message };
}
