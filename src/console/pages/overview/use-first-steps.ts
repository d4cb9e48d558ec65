import { useLicense, useLicenseDetails } from "../../api/queries/license.ts";
import { useKeyCount, useWasCalled } from "../../api/queries/overview.ts";
import { useSession } from "../../api/queries/session.ts";
import { useStatus } from "../../api/queries/status.ts";

/** Which of the first steps are done. */
export interface FirstSteps {
  readonly engine: boolean;
  readonly password: boolean;
  readonly key: boolean;
  readonly call: boolean;
  readonly license: boolean;
}

/** Returns how far the first steps are, by what the server says; undefined until all of it is known. */
export function useFirstSteps(): FirstSteps | undefined {
  const engine = useStatus().data?.engine;
  const session = useSession().data;
  const keys = useKeyCount().data;
  const wasCalled = useWasCalled().data;
  const license = useLicense().data;
  const details = useLicenseDetails().data;
  const isKnown = engine && session && license && details;
  if (!isKnown || keys === undefined || wasCalled === undefined) return undefined;
  return {
    engine: engine.reachable && engine.models > 0,
    password: !session.must_change_password,
    key: keys > 0,
    call: wasCalled,
    license: license.valid && !license.in_grace && details.kind !== "evaluation",
  };
}
