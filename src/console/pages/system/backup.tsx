import type { ReactNode } from "react";
import { useStatus } from "../../api/queries/status.ts";
import { CodeBlock } from "../../ui/text/code-block.tsx";

/** The commands that back this installation up and bring it back. */
export function Backup() {
  const runtime = useStatus().data?.build.runtime ?? "node";
  const isBun = runtime === "bun";
  const run = (task: string, file: string) =>
    isBun ? `bun run ${task} ${file}` : `npm run ${task} -- ${file}`;
  const program = isBun ? "bun" : "node --import tsx";
  return (
    <div className="grid max-w-3xl gap-8">
      <Part
        id="backup"
        title="Back up"
        text="One file with the database, the uploaded files, the secret, the license, and usage that is not in the
          database yet. The server may run. Protect the file like a password; a value of APP_SECRET is not in it."
      >
        <CodeBlock label="The command" text={run("backup", "gateway-backup.tar.gz")} />
      </Part>
      <Part
        id="nightly"
        title="Each night"
        text="A line for crontab -e. Cron needs the folder of the runtime in PATH."
      >
        <CodeBlock label="The lines of the crontab" text={crontab(run)} />
      </Part>
      <Part
        id="container"
        title="From a container"
        text="Into its volume, and out of it; for a container named gateway."
      >
        <CodeBlock
          label="The commands for a container"
          text={`docker exec gateway ${program} scripts/backup/main.ts\ndocker cp gateway:/app/data/backups .`}
        />
      </Part>
      <Part
        id="remote"
        title="From another machine"
        text="The same archive from the server itself, with a service token of the scope backup:create. One backup runs at
          a time. An answer that breaks off is no backup: curl then fails, and restore refuses the file."
      >
        <CodeBlock
          label="The call"
          text={`curl --fail -X POST '${window.location.origin}/api/admin/backups' \\\n  -H "Authorization: Bearer $GATEWAY_TOKEN" -o gateway-backup.tar.gz`}
        />
      </Part>
      <Part
        id="restore"
        title="Restore"
        text="Into an empty DATA_DIR and FILES_DIR and an empty database; start the server afterwards. The whole file is
          checked before anything is changed, and nothing is overwritten. Runs of workflows that were queued or running
          are stopped."
      >
        <CodeBlock
          label="The command that restores"
          text={run("restore", "gateway-backup.tar.gz")}
        />
      </Part>
      <Part
        id="password"
        title="A forgotten password"
        text="Gives the user admin, or another one, a new password, which it prints once."
      >
        <CodeBlock
          label="The command for a new password"
          text={isBun ? "bun run reset-password" : "npm run reset-password"}
        />
      </Part>
    </div>
  );
}

function crontab(run: (task: string, file: string) => string): string {
  const command = run("backup", "/backup/gateway-$(date +\\%F).tar.gz");
  return `PATH=/usr/local/bin:/usr/bin:/bin\n0 3 * * *  cd /opt/inference-gateway && ${command}`;
}

interface PartProps {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

function Part({ id, title, text, children }: PartProps) {
  return (
    <section className="grid min-w-0 gap-2" aria-labelledby={id}>
      <h2 id={id} className="text-lg">
        {title}
      </h2>
      <p className="max-w-prose text-muted">{text}</p>
      {children}
    </section>
  );
}
