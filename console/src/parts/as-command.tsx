import { useEffect, useState } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { Dialog as AriaDialog, DialogTrigger } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Popover } from 'react-aria-components/Popover'
import { CopyButton } from './copy.tsx'
import { Icon } from './icons.tsx'
import { type CommandTexts, useServices } from './services.tsx'
import { texts } from './texts.ts'

const kinds = [
  ['cli', 'waypost'],
  ['curl', 'curl'],
  ['sdk', 'SDK'],
] as const

/** Shows the request of the page as a command: `<AsCommand operation="endpoints.list" args={{ limit: 10 }} />`. */
export function AsCommand({ operation, args = {} }: { operation: string; args?: Record<string, unknown> }) {
  return (
    <DialogTrigger>
      <AriaButton className="button button-quiet">
        <Icon name="terminal" size={16} />
        <span className="wide-only">{texts.asCommand}</span>
        <span className="narrow-only visually-hidden">{texts.asCommand}</span>
      </AriaButton>
      <Popover className="popover popover-wide" placement="bottom end">
        <AriaDialog className="commands">
          <Heading slot="title" level={2}>
            {texts.asCommandTitle}
          </Heading>
          <Commands operation={operation} args={args} />
        </AriaDialog>
      </Popover>
    </DialogTrigger>
  )
}

function Commands({ operation, args }: { operation: string; args: Record<string, unknown> }) {
  const { commandTexts } = useServices()
  const [found, setFound] = useState<CommandTexts>()
  const [problem, setProblem] = useState<string>()
  const key = JSON.stringify(args)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` changes only if the arguments change; `args` changes at each render
  useEffect(() => {
    commandTexts(operation, args).then(setFound, (error: Error) => setProblem(error.message))
  }, [operation, key, commandTexts])
  if (problem) return <p role="alert">{problem}</p>
  if (!found) return <p role="status">{texts.loading}</p>
  return (
    <>
      {kinds.map(([kind, name]) => (
        <div key={kind} className="command">
          <div className="command-head">
            <h3>{name}</h3>
            <CopyButton text={found[kind]} />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
          <pre tabIndex={0}>{found[kind]}</pre>
        </div>
      ))}
      <p className="field-description">
        {found.scopes.length > 0 && (
          <>
            {texts.asCommandScopes} <code>{found.scopes.join(', ')}</code>.{' '}
          </>
        )}
        {texts.asCommandToken}
      </p>
    </>
  )
}
