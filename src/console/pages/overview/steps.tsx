import { Check, Circle } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { IssuedApiKey } from "../../api/queries/api-keys.ts";
import { useLicense } from "../../api/queries/license.ts";
import { QuickKey } from "../../parts/credentials/quick-key.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { classes } from "../../ui/classes.ts";
import { LinkButton } from "../../ui/navigation/link-button.tsx";
import { CallStep } from "./call-step.tsx";
import type { FirstSteps } from "./use-first-steps.ts";

interface StepsProps {
  readonly steps: FirstSteps;
  readonly onHide: () => void;
}

const NAMES = {
  engine: "Engine",
  password: "Password",
  key: "First key",
  call: "First call",
  license: "License",
} as const;

/** What there is to do at first: each step is done when the server says so. */
export function Steps({ steps, onHide }: StepsProps) {
  const license = useLicense();
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedApiKey>();
  // The call's line stays after it has arrived: it says how the call ended.
  const [wasWaiting] = useState(!steps.call);
  const states = Object.entries(NAMES).map(([id, name]) => ({
    ...{ id, name },
    isDone: steps[id as keyof FirstSteps],
  }));
  const done = states.filter(({ isDone }) => isDone).length;
  return (
    <section
      aria-labelledby="steps"
      className="grid gap-4 rounded-lg border border-line bg-surface p-4"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h2 id="steps" className="text-lg">
          Get started
        </h2>
        <span className="text-muted">
          {done} of {states.length}
        </span>
        <ul aria-label="Steps" className="flex flex-wrap gap-x-4 gap-y-1">
          {states.map(({ id, name, isDone }) => (
            <State key={id} name={name} isDone={isDone} />
          ))}
        </ul>
        <div className="ml-auto">
          <Button look="quiet" onClick={onHide}>
            Hide the steps
          </Button>
        </div>
      </div>
      {!steps.engine && (
        <Todo title="Engine">The gateway needs a model server: see what is wrong above.</Todo>
      )}
      {!steps.key && (
        <Todo
          title="First key"
          action={<Button onClick={() => setIssuing(true)}>Issue key</Button>}
        >
          Programs call the gateway with a key, which has its own limits and usage.
        </Todo>
      )}
      {wasWaiting && (
        <CallStep issued={issued} hasKey={steps.key} onIssue={() => setIssuing(true)} />
      )}
      {!steps.license && (
        <Todo title="License" action={<LinkButton to="/license">Upload a license</LinkButton>}>
          {license.data?.warning ?? "No license is set."}
        </Todo>
      )}
      <QuickKey isOpen={isIssuing} onClose={() => setIssuing(false)} onIssued={setIssued} />
    </section>
  );
}

function State({ name, isDone }: { readonly name: string; readonly isDone: boolean }) {
  const Icon = isDone ? Check : Circle;
  return (
    <li className={classes("inline-flex items-center gap-1.5", isDone ? "text-ok" : "text-muted")}>
      <Icon size={14} aria-hidden />
      {name}
      <span className="sr-only">{isDone ? ": done" : ": to do"}</span>
    </li>
  );
}

interface TodoProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

function Todo({ title, action, children }: TodoProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line pt-3">
      <h3 className="w-24 font-medium">{title}</h3>
      <p className="min-w-0 flex-1 basis-60 text-muted">{children}</p>
      {action}
    </div>
  );
}
