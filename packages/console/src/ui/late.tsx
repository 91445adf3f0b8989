// Regions whose newest audit entries an answer lacks: they did not reply to the service in time. Any answer
// from the audit log can name them. Invariant: what the log shows is not taken for whole meanwhile.

/** The regions that answers, or pages of a list, lack. */
export const lateIn = (answers: readonly unknown[] = []): string[] => [
  ...new Set(
    answers.flatMap(
      (answer) => (answer as { regions_missing?: string[] } | undefined)?.regions_missing ?? [],
    ),
  ),
];

export function Late({ answers }: { answers: readonly unknown[] | undefined }) {
  const regions = lateIn(answers);
  if (!regions.length) return null;
  return (
    <p class="note warn" role="status">
      No reply from {regions.length === 1 ? 'the region' : 'the regions'} {regions.join(', ')}: audit entries
      of the last seconds from there are missing.
    </p>
  );
}
