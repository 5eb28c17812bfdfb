/** Short messages about finished actions: `useToast()('Saved')`. */
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react'
import { IconButton } from './button.tsx'
import { Icon } from './icons.tsx'
import { texts } from './texts.ts'

interface Message {
  id: number
  text: string
  tone: 'good' | 'bad'
}

type Show = (text: string, tone?: Message['tone']) => void

const ToastContext = createContext<Show>(() => {})
const shownMs = 6_000

export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([])
  const lastId = useRef(0)
  const remove = useCallback((id: number) => setMessages((all) => all.filter((one) => one.id !== id)), [])
  const show: Show = useCallback(
    (text, tone = 'good') => {
      const id = ++lastId.current
      setMessages((all) => [...all.slice(-3), { id, text, tone }])
      // Errors stay until the user closes them.
      if (tone === 'good') setTimeout(() => remove(id), shownMs)
    },
    [remove],
  )
  return (
    <ToastContext value={show}>
      {children}
      <section className="toasts" aria-live="polite" aria-label={texts.messages}>
        {messages.map(({ id, text, tone }) => (
          <div key={id} className={`toast toast-${tone}`}>
            <Icon name={tone === 'good' ? 'check' : 'alert'} />
            <p>{text}</p>
            <IconButton icon="x" label={texts.close} onPress={() => remove(id)} />
          </div>
        ))}
      </section>
    </ToastContext>
  )
}

export const useToast = () => useContext(ToastContext)
