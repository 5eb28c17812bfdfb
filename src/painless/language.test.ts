import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScriptError } from './errors.ts'
import { startMeter } from './meter.ts'
import { compileScript } from './script.ts'
import { textOf } from './text.ts'
import { javaClassOf } from './values.ts'

const run = (source: string, regexEnabled = true): unknown => {
  const script = compileScript(source, { variables: [['params', 'Map']], regexEnabled })
  startMeter()
  return script.run(
    new Map<unknown, unknown>([
      ['name', 'probe'],
      ['none', null],
    ]),
  )
}

/** Checks the results of scripts by their text and, if given, by their class. */
function check(title: string, cases: [source: string, text: string, javaClass?: string][]): void {
  test(title, () => {
    for (const [source, text, javaClass] of cases) {
      const result = run(source)
      assert.equal(textOf(result), text, source)
      if (javaClass) assert.equal(javaClassOf(result).replace(/^.*\./, ''), javaClass, source)
    }
  })
}

function checkFailures(title: string, cases: [source: string, javaClass: string, reason?: RegExp][]): void {
  test(title, () => {
    for (const [source, javaClass, reason] of cases)
      assert.throws(
        () => run(source),
        (error: unknown) => {
          assert.ok(error instanceof ScriptError, source)
          assert.equal(error.javaClass.replace(/^.*\./, ''), javaClass, `${source}: ${error.message}`)
          if (reason) assert.match(error.message, reason)
          return true
        },
        source,
      )
  })
}

check('integers overflow and divide as in Java', [
  ['int x = Integer.MAX_VALUE; return x + 1', '-2147483648', 'Integer'],
  ['return 2147483647L + 1', '2147483648', 'Long'],
  ['return Long.MAX_VALUE + 1', '-9223372036854775808', 'Long'],
  ['return 1000000 * 1000000', '-727379968', 'Integer'],
  ['return 1000000 * 1000000L', '1000000000000', 'Long'],
  ['return -7 / 2', '-3'],
  ['return -7 % 3', '-1'],
  ['return 7 / 2.0', '3.5', 'Double'],
  ['return 7F / 2', '3.5', 'Float'],
  ['return 1 << 33', '2'],
  ['return 1L << 33', '8589934592'],
  ['return -5 >>> 28', '15'],
  ['return -5L >>> 60', '15'],
  ['return ~5 & 0xFF | 010', '250'],
  ['return (byte)200', '-56', 'Byte'],
  ['return (char)65', 'A', 'Character'],
  ['return (int)1e20', '2147483647'],
  ['return (long)-3.99', '-3', 'Long'],
  ['byte b = 127; b += 1; return b', '-128', 'Byte'],
  ['def b = (short)5; b *= 2; return b', '10', 'Short'],
  ['def x = 5; x += 1.9; return x', '6', 'Integer'],
  ['char c = (char)"x"; return c + 1', '121', 'Integer'],
])

check('numbers of unknown type are promoted at run time', [
  ['def x = 5; def y = 2; return x / y', '2', 'Integer'],
  ['def x = 5L; def y = 2; return x * y', '10', 'Long'],
  ['def x = 5; def y = 2.5; return x + y', '7.5', 'Double'],
  ['def x = (float)1; def y = (byte)1; return x - y', '0.0', 'Float'],
  ['def x = 4; def y = 4.0; return x == y', 'true'],
  ['def x = 4L; return x.equals(4)', 'false'],
  ['def x = (byte)4; return x << 2L', '16', 'Integer'],
  ['def x = true; def y = false; return x ^ y', 'true'],
])

check('=== compares boxed numbers by class and by the identity that the caches of Java give them', [
  ['def x = 4; def y = 4; return x === y', 'true'],
  ['def x = 4; def y = 5; return x === y', 'false'],
  ['def x = 4; def y = 5; return x !== y', 'true'],
  ['def x = 4; int y = 5; return x === y', 'false'],
  ['def x = 4; def y = 4.0; return x === y', 'false'],
  ['def x = 4; def y = 4L; return x === y', 'false'],
  ['def x = 4; def y = (byte)4; return x === y', 'false'],
  ['def x = 4L; def y = 4L; return x === y', 'true'],
  ['def x = 4L; def y = 5L; return x === y', 'false'],
  ['def x = (byte)-128; def y = (byte)-128; return x === y', 'true'],
  ['def x = (byte)4; def y = (byte)5; return x === y', 'false'],
  ['def x = (short)127; def y = (short)127; return x === y', 'true'],
  ['def x = (short)128; def y = (short)128; return x === y', 'false'],
  ['def x = (short)128; def y = x; return x === y', 'true'],
  ['def x = (char)127; def y = (char)127; return x === y', 'true'],
  ['def x = (char)128; def y = (char)128; return x === y', 'false'],
  ['def x = 4.0; def y = 4.0; return x === y', 'false'],
  ['def x = 4.0; def y = x; return x === y', 'true'],
  ['def x = 4F; def y = 4F; return x === y', 'false'],
  ['def x = 2.5; def y = 3.5; return x === y', 'false'],
  ['def x = 2.5; def y = x; return x === y', 'true'],
  ['def x = Double.NaN; def y = x; return x === y', 'true'],
  ['def x = 0.0; def y = -0.0; return x === y', 'false'],
])

check('texts print numbers as Java does', [
  ["return '' + 1.0 + ' ' + 1e10 + ' ' + 1.0E-5 + ' ' + 100.0 + ' ' + 0.1f", '1.0 1.0E10 1.0E-5 100.0 0.1'],
  ["return 'a' + 1 + 2L + true + null + (char)65", 'a12truenullA'],
  ["return 1 + 2 + 'x' + 1 + 2", '3x12'],
  ['return Double.toString(Math.PI)', '3.141592653589793'],
  ["return String.valueOf([1, 'a', ['k': 2.0]])", '[1, a, {k=2.0}]'],
])

check('statements and expressions have the results of Java', [
  ['int sum = 0; for (int i = 0; i < 5; ++i) { if (i == 1) continue; if (i == 4) break; sum += i } return sum', '5'],
  ['int n = 0; while (n < 10) n += 3; return n', '12'],
  ['int n = 0; do { n++ } while (n < 3); n', '3'],
  ["String s = ''; for (x in ['a', 'b']) s += x; s", 'ab'],
  ['int total = 0; for (int x : new int[] {1, 2, 3}) total += x; total', '6'],
  ['int f(int n) { if (n <= 1) return 1; return n * f(n - 1) } f(5)', '120'],
  ["try { throw new IllegalStateException('no') } catch (IllegalStateException e) { return e.getMessage() }", 'no'],
  [
    "try { Integer.parseInt('x') } catch (NumberFormatException e) { return 1 } catch (Exception e) { return 2 } return 3",
    '1',
  ],
  ["return params.none?.length() ?: 'nothing'", 'nothing'],
  ["def m = ['a': ['b': [1, 2]]]; return m.a.b.1 + m['a']['b'][-1]", '4'],
  ['int[][] a = new int[2][3]; a[1][2] = 7; return a[1][2] + a.length', '9'],
  ["Map m = ['x': 1]; m.x++; m.y = m.x * 2; m", '{x=2, y=4}'],
  ['def x = 1; return x instanceof int && x instanceof Number && !(x instanceof List)', 'true'],
  ['boolean b = false; b |= true; return b ? 1 : 2', '1'],
  ['int x, y = 2; x = y = 5; return x + y', '10'],
  ['// comment\n/* another */ return 1', '1'],
  ["'text'", 'text'],
])

check('lists, maps and sets behave as in Java', [
  ['List l = [3, 1, 2]; l.sort((a, b) -> a - b); l.add(0, 9); l.remove(1); l', '[9, 2, 3]'],
  ["Map m = new TreeMap(['b': 1, 'a': 2]); m", '{a=2, b=1}'],
  ["Map m = [1: 'int', 1L: 'long', 1.0: 'double', '1': 'text']; m.size()", '4'],
  ["Map m = [:]; m.computeIfAbsent('a', k -> []).add(1); m", '{a=[1]}'],
  ["Map m = ['a': null, 'b': 1]; m.entrySet().removeIf(e -> e.getValue() == null); m", '{b=1}'],
  ["Map m = ['a': null, 'b': 1]; m.values().removeIf(Objects::isNull); m", '{b=1}'],
  ["Map m = ['a': 1]; for (e in m.entrySet()) { e.value = 5 } m", '{a=5}'],
  ['Set s = new HashSet(); s.add([1]); s.add([1]); s.size()', '1'],
  ['Iterator i = [1, 2, 1].iterator(); int n = 0; while (i.hasNext()) n += i.next(); n', '4'],
  ['List l = [1, 2, 1]; Iterator i = l.iterator(); while (i.hasNext()) if (i.next() == 1) i.remove(); l', '[2]'],
  ["def m = [:]; m['__proto__'] = 1; m.toString", 'null'],
  ["def m = ['__proto__': 1, 'constructor': 2]; m", '{__proto__=1, constructor=2}'],
  ['[1, 2].equals([1, 2]) && [1] != [1L]', 'true'],
  ['Collections.max([3, 9, 4])', '9'],
])

check('lambdas, method references and streams work as in Java', [
  ['[1, 2, 3, 4].stream().filter(x -> x % 2 == 0).map(x -> x * x).collect(Collectors.toList())', '[4, 16]'],
  ["['a', 'b', 'a'].stream().collect(Collectors.groupingBy(Function.identity(), Collectors.counting()))", '{a=2, b=1}'],
  ['def l = [2, 1]; l.sort(Integer::compare); l', '[1, 2]'],
  ["['x', 'yy'].stream().mapToInt(String::length).sum()", '3'],
  ['int twice(int x) { x * 2 } [1, 2].stream().map(this::twice).collect(Collectors.toList())', '[2, 4]'],
  ['int base = 10; Optional.of(5).map(x -> x + base).get()', '15'],
  ['IntStream.iterate(1, x -> x * 2).limit(5).boxed().collect(Collectors.toList())', '[1, 2, 4, 8, 16]'],
  ["Stream.of(new String[] {'b', 'a'}).sorted(Comparator.reverseOrder()).collect(Collectors.joining('-'))", 'b-a'],
  ['DoubleSummaryStatistics s = [1.5, 2.5].stream().mapToDouble(x -> x).summaryStatistics(); s.max + s.average', '4.5'],
])

check('regular expressions run in linear time', [
  ["'foobar' =~ /o+b/", 'true'],
  ["'foobar' ==~ /o+b/", 'false'],
  ["Matcher m = /(?<n>\\d+)-(\\w)/.matcher('a 12-x'); m.find(); m.group('n') + m.group(2)", '12x'],
  ["/,\\s*/.split('a, b,c').length", '3'],
  ["'the fox'.replaceAll(/[aeiou]/, m -> m.group().toUpperCase())", 'thE fOx'],
  ["('a'.repeat(20000) + 'b') ==~ /(a+)+/", 'false'],
])

check('dates are computed and formatted as in Java', [
  ["ZonedDateTime.parse('2018-09-01T15:00:00+08:00').toInstant().toEpochMilli()", '1535785200000', 'Long'],
  [
    "ZonedDateTime.parse('2020-03-29T01:30:00+01:00[Europe/Berlin]').plusHours(1)",
    '2020-03-29T03:30+02:00[Europe/Berlin]',
  ],
  ['LocalDate.of(2020, 1, 31).plusMonths(1)', '2020-02-29'],
  ["ChronoUnit.DAYS.between(LocalDate.parse('2020-02-01'), LocalDate.parse('2020-03-01'))", '29'],
  ["Duration.between(Instant.ofEpochMilli(0L), Instant.parse('1970-01-01T00:01:01.001Z'))", 'PT1M1.001S'],
  [
    "ZonedDateTime.parse('10/Oct/2000:13:55:36 -0700', DateTimeFormatter.ofPattern('dd/MMM/yyyy:HH:mm:ss Z')).getDayOfWeek()",
    'TUESDAY',
  ],
  [
    "LocalDateTime.parse('2019-01-01T10:00').format(DateTimeFormatter.ofPattern(\"EEEE, d MMMM yyyy 'at' h a\"))",
    'Tuesday, 1 January 2019 at 10 AM',
  ],
  ['BigDecimal.valueOf(2.345).setScale(2, RoundingMode.HALF_UP).doubleValue()', '2.35'],
])

checkFailures('a value of a wrong type throws an exception', [
  ["int x = 'a'", 'ClassCastException'],
  ['long x = 5L; int y = x', 'ClassCastException'],
  ['boolean o = true; Boolean b = o', 'ClassCastException'],
  ['Object o = 1', 'ClassCastException'],
  ['def d = 5L; int y = d', 'ClassCastException'],
  ["def d = 'x'; boolean b = d", 'ClassCastException'],
  ['float x = 1F; x << 2', 'ClassCastException'],
  ['def x = 1.5; x & 1', 'ClassCastException'],
  ['List l = [1]; Map m = l', 'ClassCastException'],
  ["(char)'ab'", 'ClassCastException'],
  ['12 ==~ /cat/', 'ClassCastException'],
  ['StringBuilder b = new StringBuilder(); [1].stream().mapToLong(i -> b.setLength(i))', 'ClassCastException'],
])

checkFailures('mistakes in a script are reported with a reason', [
  ['int x = 1; int x = 2', 'IllegalArgumentException', /already defined/],
  ['return y', 'IllegalArgumentException', /cannot resolve symbol \[y\]/],
  ["'a'.foo()", 'IllegalArgumentException', /\[java.lang.String, foo\/0\] not found/],
  ["def s = 'a'; s.foo()", 'IllegalArgumentException', /dynamic method/],
  ['return 864000000000', 'IllegalArgumentException', /does not fit into an int/],
  ["'\\n'", 'IllegalArgumentException', /escape/],
  ['1 + ', 'IllegalArgumentException', /unexpected end/],
  ['5; return 1', 'IllegalArgumentException', /Not a statement/],
  ['return 1; return 2', 'IllegalArgumentException', /Unreachable/],
  ['if (true) return 1', 'IllegalArgumentException', /Extraneous/],
  ['int f() { } f()', 'IllegalArgumentException', /not all paths/],
  ['int f() { 1 } int f() { 2 } f()', 'IllegalArgumentException', /Duplicate/],
  ['List l = []; l.stream().map(x -> { l = null; x })', 'IllegalArgumentException', /read-only/],
  ['break', 'IllegalArgumentException'],
  ['Unknown x = null', 'IllegalArgumentException', /cannot resolve type/],
  ['java.util.List', 'IllegalArgumentException'],
  ['Optional.empty().orElseGet(x -> x)', 'IllegalArgumentException', /number of parameters/],
])

checkFailures('exceptions have the class that Java gives them', [
  ['return 1 / 0', 'ArithmeticException'],
  ["def l = [1]; l.get('x')", 'WrongMethodTypeException'],
  ["def l = [1]; l['x']", 'WrongMethodTypeException'],
  ['def x = null; x.foo', 'NullPointerException'],
  ['int x = params.none', 'NullPointerException'],
  ['String s = null; s.length()', 'NullPointerException'],
  ['[1][3]', 'IndexOutOfBoundsException'],
  ['new int[] {1}[1]', 'ArrayIndexOutOfBoundsException'],
  ["'abc'.substring(5)", 'StringIndexOutOfBoundsException'],
  ["Integer.parseInt('12x')", 'NumberFormatException'],
  ['Collections.emptyList().add(1)', 'UnsupportedOperationException'],
  ['[].iterator().next()', 'NoSuchElementException'],
  ['List l = [1, 2]; for (x in l) l.add(x)', 'ConcurrentModificationException'],
  ["LocalDate.parse('yesterday')", 'DateTimeParseException'],
  ['new int[-1]', 'NegativeArraySizeException'],
  ["throw new RuntimeException('mine')", 'RuntimeException'],
])

test('an error shows line, column and the text around it', () => {
  const source = 'int x = 1;\nint y = 2;\nreturn x.foo(y);'
  assert.throws(
    () => run(source),
    (error: unknown) => {
      assert.ok(error instanceof ScriptError)
      assert.deepEqual([error.phase, error.line, error.column], ['compile error', 3, 10])
      assert.deepEqual(error.excerpt, ['... return x.foo(y);', `${' '.repeat(13)}^---- HERE`])
      return true
    },
  )
})

test('a script with a regular expression is rejected if the setting turns regular expressions off', () => {
  for (const source of ["'a' ==~ /a/", "Pattern.quote('a')", '/a/.matcher("a").find()'])
    assert.throws(() => run(source, false), /Regexes are disabled/, source)
})

test('a loop of 999,999 iterations is within the limit of steps, and a loop of 1,000,000 iterations exceeds it', () => {
  assert.equal(run('for (int x = 0; x < 999999; ++x) {}'), null)
  assert.throws(() => run('for (int x = 0; x < 1000000; ++x) {}'), /1000000 steps/)
})

test('a script is compiled once and keeps nothing between runs', () => {
  const script = compileScript('int n; def l = []; n++; l.add(n); l', { variables: [] })
  startMeter()
  assert.equal(textOf(script.run()), '[1]')
  assert.equal(textOf(script.run()), '[1]')
})
