import type { BodyOf } from '../../api/operation-types.ts'
import { Link } from '../../parts/link.tsx'
import { Text } from '../../parts/text.tsx'
import { texts } from './texts.ts'

/** The creator of a job: the name of a user, with a link to the user; or an OAuth client or API key, with its kind. */
export function Owner({ owner: { type, id, name } }: { owner: BodyOf<'jobs.get'>['owner'] }) {
  if (type === 'system') return texts.system
  if (type === 'user' && name !== undefined)
    return (
      <Link to={`/users/${encodeURIComponent(id)}`}>
        <Text value={name} max={60} />
      </Link>
    )
  return (
    <>
      <span className="quiet">{texts.owners[type] ?? type}</span> <Text value={name ?? id} max={60} />
    </>
  )
}
