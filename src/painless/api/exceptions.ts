import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'

defineClass('java.lang.Throwable', {
  methods: {
    'String getMessage()': (self: JavaThrow) => (self.hasMessage ? self.message : null),
    'String getLocalizedMessage()': (self: JavaThrow) => (self.hasMessage ? self.message : null),
    'def[] getStackTrace()': () => ({ elementType: 'def', items: [] }),
  },
})

/** Exceptions, each with the class that it extends. */
const hierarchy: Record<string, string> = {
  'java.lang.Exception': 'java.lang.Throwable',
  'java.lang.RuntimeException': 'java.lang.Exception',
  'java.lang.ArithmeticException': 'java.lang.RuntimeException',
  'java.lang.ArrayStoreException': 'java.lang.RuntimeException',
  'java.lang.ClassCastException': 'java.lang.RuntimeException',
  'java.lang.IllegalArgumentException': 'java.lang.RuntimeException',
  'java.lang.IllegalMonitorStateException': 'java.lang.RuntimeException',
  'java.lang.IllegalStateException': 'java.lang.RuntimeException',
  'java.lang.IndexOutOfBoundsException': 'java.lang.RuntimeException',
  'java.lang.ArrayIndexOutOfBoundsException': 'java.lang.IndexOutOfBoundsException',
  'java.lang.StringIndexOutOfBoundsException': 'java.lang.IndexOutOfBoundsException',
  'java.lang.NegativeArraySizeException': 'java.lang.RuntimeException',
  'java.lang.NullPointerException': 'java.lang.RuntimeException',
  'java.lang.NumberFormatException': 'java.lang.IllegalArgumentException',
  'java.lang.UnsupportedOperationException': 'java.lang.RuntimeException',
  'java.util.ConcurrentModificationException': 'java.lang.RuntimeException',
  'java.util.EmptyStackException': 'java.lang.RuntimeException',
  'java.util.InputMismatchException': 'java.util.NoSuchElementException',
  'java.util.MissingResourceException': 'java.lang.RuntimeException',
  'java.util.NoSuchElementException': 'java.lang.RuntimeException',
  'java.util.regex.PatternSyntaxException': 'java.lang.IllegalArgumentException',
  'java.time.DateTimeException': 'java.lang.RuntimeException',
  'java.time.format.DateTimeParseException': 'java.time.DateTimeException',
  'java.time.temporal.UnsupportedTemporalTypeException': 'java.time.DateTimeException',
  'java.time.zone.ZoneRulesException': 'java.time.DateTimeException',
  'java.lang.CloneNotSupportedException': 'java.lang.Exception',
  'java.lang.InterruptedException': 'java.lang.Exception',
  'java.lang.ReflectiveOperationException': 'java.lang.Exception',
  'java.lang.ClassNotFoundException': 'java.lang.ReflectiveOperationException',
  'java.io.IOException': 'java.lang.Exception',
  'java.io.UncheckedIOException': 'java.lang.RuntimeException',
  'java.text.ParseException': 'java.lang.Exception',
  'java.util.concurrent.TimeoutException': 'java.lang.Exception',
  'java.lang.invoke.LambdaConversionException': 'java.lang.Exception',
  'java.lang.invoke.WrongMethodTypeException': 'java.lang.RuntimeException',
}

for (const [name, parent] of Object.entries(hierarchy))
  defineClass(name, {
    supers: [parent],
    constructors: {
      '()': () => new JavaThrow(name, null),
      '(String)': (message: string | null) => new JavaThrow(name, message),
      '(String,def)': (message: string | null) => new JavaThrow(name, message),
    },
  })
