import type { ReactNode } from "react";
import { AnswerFields } from "./answer-fields.tsx";
import type { PartProps } from "./assistant-draft.ts";
import { KnowledgeFields } from "./knowledge-fields.tsx";
import { ToolFields } from "./tool-fields.tsx";

interface MoreFieldsProps extends PartProps {
  readonly isAdmin: boolean;
}

/** What an assistant answers from, what it may do, and how it answers. */
export function MoreFields({ isAdmin, ...part }: MoreFieldsProps) {
  return (
    <>
      <Section title="Knowledge">
        <KnowledgeFields {...part} />
      </Section>
      <Section title="Tools">
        <ToolFields {...part} isAdmin={isAdmin} />
      </Section>
      <Section title="Answer">
        <AnswerFields {...part} />
      </Section>
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly children: ReactNode;
}

function Section({ title, children }: SectionProps) {
  return (
    <fieldset className="grid gap-4 border-t border-line pt-4">
      <legend className="sr-only">{title}</legend>
      <p aria-hidden className="text-base font-medium">
        {title}
      </p>
      {children}
    </fieldset>
  );
}
