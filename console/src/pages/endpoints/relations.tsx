/** Lists the endpoints that an endpoint contains, such as the sensors of a field gateway, and the endpoints that contain it. */
import { useState } from 'react'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

export default function RelationsTab(props: TabProps) {
  return (
    <div className="columns">
      <Relations {...props} relation="contains" />
      <Relations {...props} relation="is_contained_by" />
    </div>
  )
}

function Relations({
  endpoint: { endpointId },
  mayUpdate,
  relation,
}: TabProps & { relation: 'contains' | 'is_contained_by' }) {
  const args = { endpointId, relation, limit: 200 }
  const list = useList('endpoints.relations.list', args)
  const [other, setOther] = useState('')
  const link = useChange('endpoints.relations.link')
  const unlink = useChange('endpoints.relations.unlink')
  const toast = useToast()
  const isOut = relation === 'contains'
  const relationTo = (id: string) => [
    { type: 'contains' as const, from: isOut ? endpointId : id, to: isOut ? id : endpointId },
  ]
  async function add() {
    const outcome = await link.run({ body: relationTo(other) })
    if (outcome.kind !== 'done') return
    toast(texts.linked)
    setOther('')
  }
  async function remove(id: string) {
    const outcome = await unlink.run({ body: relationTo(id) })
    if (outcome.kind === 'done') toast(texts.unlinked)
  }
  const ids = list.items.map(({ from, to }) => (isOut ? to : from))
  const problem = link.problem ?? unlink.problem ?? list.problem
  return (
    <Card
      title={isOut ? texts.contains : texts.containedBy}
      actions={<AsCommand operation="endpoints.relations.list" args={args} />}
    >
      <div className="form">
        {problem && <ErrorNote problem={problem} />}
        {list.isLoading ? (
          <Loading label={texts.loading} />
        ) : ids.length === 0 ? (
          <p className="quiet">{isOut ? texts.containsNothing : texts.containedInNothing}</p>
        ) : (
          <ul className="related">
            {ids.map((id) => (
              <li key={id}>
                <Link to={`/endpoints/${encodeURIComponent(id)}`}>
                  <Text value={id} max={80} />
                </Link>
                {mayUpdate && (
                  <IconButton icon="x" label={texts.unlink(cut(id, 60).shown)} onPress={() => void remove(id)} />
                )}
              </li>
            ))}
          </ul>
        )}
        {mayUpdate && (
          <form
            className="inline-form"
            onSubmit={(event) => {
              event.preventDefault()
              void add()
            }}
          >
            <TextField label={texts.otherId} value={other} onChange={setOther} isRequired mono />
            <Button type="submit" icon="plus" isBusy={link.isRunning} isDisabled={other === ''}>
              {texts.link}
            </Button>
          </form>
        )}
      </div>
    </Card>
  )
}
