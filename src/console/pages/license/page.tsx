import {
  useLicense,
  useLicenseDetails,
  useLicenseDevice,
  useUploadLicense,
} from "../../api/queries/license.ts";
import { countOf } from "../../lib/count.ts";
import { DropZone } from "../../ui/forms/drop-zone.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { LicenseLine } from "./license-line.tsx";

/** The license: until when, for whom, for how much, and another in its place. */
export function Page() {
  const license = useLicense();
  const details = useLicenseDetails();
  const error = license.error ?? details.error;
  const retry = () => {
    void license.refetch();
    void details.refetch();
  };
  return (
    <>
      <PageHeader title="License" aside={license.data && <State {...license.data} />}>
        <CallButton
          call={{
            method: "GET",
            path: "/api/license/details",
            credential: "token",
            scope: "license:read",
          }}
        />
      </PageHeader>
      <div className="grid max-w-3xl gap-8">
        {error !== null && (
          <ErrorCard what="The license could not be loaded" error={error} onRetry={retry} />
        )}
        {(license.isPending || details.isPending) && (
          <Skeleton shape="lines" label="The license is loading" />
        )}
        {license.data !== undefined && details.data !== undefined && (
          <>
            {license.data.warning !== null && <p>{license.data.warning}</p>}
            <LicenseLine state={license.data} issuedAt={details.data.issued_at} />
            <Terms details={details.data} />
          </>
        )}
        <Device />
        <Upload />
      </div>
    </>
  );
}

type LicenseState = NonNullable<ReturnType<typeof useLicense>["data"]>;
type Details = NonNullable<ReturnType<typeof useLicenseDetails>["data"]>;

function State({ valid, in_grace: isInGrace, days_left: days }: LicenseState) {
  if (!valid) return <StatusDot tone="bad">Not valid</StatusDot>;
  if (isInGrace) return <StatusDot tone="warn">Expired, in its grace</StatusDot>;
  return (
    <StatusDot tone="ok">
      {days === null ? "Valid" : `Valid, ${countOf(days, "day")} left`}
    </StatusDot>
  );
}

function Terms({ details }: { readonly details: Details }) {
  const { gpus, max_gpus: maxGpus } = details;
  return (
    <PropertyList
      properties={[
        ["Kind", details.kind],
        ["Customer", details.customer ?? "none"],
        ["License id", details.id ?? "none"],
        ["Issued", <Time key="issued" value={details.issued_at} instead="not issued" />],
        ["Users", `${details.users} of ${details.max_users}`],
        ["GPUs", maxGpus === null ? `${gpus ?? 0}, unlimited` : `${gpus ?? 0} of ${maxGpus}`],
        ["Read from", details.source ?? "nowhere: no license is set"],
      ]}
    />
  );
}

function Device() {
  const { data } = useLicenseDevice();
  if (data?.device_id == null) return null;
  return (
    <section className="grid gap-2" aria-labelledby="device">
      <h2 id="device" className="text-lg">
        Device id
      </h2>
      <p className="text-muted">Send it along when you order a license: it is bound to it.</p>
      <CodeBlock label="The device id" text={data.device_id} />
    </section>
  );
}

/** Another license; the reason of a refusal stays until the next try. */
function Upload() {
  const upload = useUploadLicense();
  const send = (file: File | undefined) => {
    if (file === undefined) return;
    upload.mutate(file, { onSuccess: () => showToast(`${file.name} is the license now`) });
  };
  return (
    <section className="grid gap-3" aria-labelledby="upload">
      <h2 id="upload" className="text-lg">
        Replace the license
      </h2>
      <DropZone
        what="a license file (.lic)"
        accept=".lic"
        isBusy={upload.isPending}
        onFiles={([file]) => send(file)}
      />
      {upload.error !== null && (
        <ErrorCard
          what={`${upload.variables?.name ?? "The file"} was refused; the license before it stays`}
          error={upload.error}
        />
      )}
    </section>
  );
}
