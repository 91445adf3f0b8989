// CyberArk Conjur: a response of the batch retrieval of secrets.
import { source } from './source';

const VARIABLE = ':variable:';

export const conjur = source({
  source: 'conjur',
  accepts: 'json',
  read: (data) =>
    data.entries().map(([id, node]) => {
      const at = id.indexOf(VARIABLE);
      if (at < 0) throw node.unreadable('is not the id of a variable');
      return { name: id.slice(at + VARIABLE.length), value: node.value };
    }),
});
