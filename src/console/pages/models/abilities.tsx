import {
  AudioLines,
  Binary,
  Bot,
  Brain,
  FileText,
  Image,
  type LucideIcon,
  Wrench,
} from "lucide-react";
import type { Ability, Model } from "../../api/queries/models.ts";

const SIGNS: Readonly<Record<Ability, LucideIcon>> = {
  tools: Wrench,
  images: Image,
  PDF: FileText,
  audio: AudioLines,
  thinking: Brain,
};

/** What a model can do beside text, as signs: a row has no room for the words, which the model's panel has. */
export function Abilities({ model: { kind, abilities } }: { readonly model: Model }) {
  if (kind === "chat" && abilities.length === 0) return <span className="text-muted">text</span>;
  return (
    <ul className="flex items-center gap-2">
      {kind === "assistant" && <Sign icon={Bot} name="assistant" />}
      {kind === "embedding" && <Sign icon={Binary} name="embeddings" />}
      {abilities.map((ability) => (
        <Sign key={ability} icon={SIGNS[ability]} name={ability} />
      ))}
    </ul>
  );
}

function Sign({ icon: Icon, name }: { readonly icon: LucideIcon; readonly name: string }) {
  return (
    // The unseen words have their place within the table's own scrolling.
    <li title={name} className="relative">
      <Icon size={16} aria-hidden />
      <span className="sr-only">{name}</span>
    </li>
  );
}
