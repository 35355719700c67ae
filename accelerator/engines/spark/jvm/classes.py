"""The one bridge to classes of the JVM that Spark found in late jars, by reflection.

py4j's `jvm.a.b.C` often fails to find a class of a jar that came by `spark.jars.packages`; Spark's
own `Utils.classForName` always finds it. Promises: a class, constructor or method is looked up
once; an exception that Java throws comes out as `JvmError`. Knows nothing of Iceberg.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from py4j.java_gateway import JavaGateway

from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.engines.spark.jvm.pipelined_calls import PipelinedCalls

_SEPARATOR = "\n"


class Jvm:
    """Classes, constructors, static methods and method handles of one JVM."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway = gateway
        self._java = gateway.jvm.java
        self._utils = gateway.jvm.org.apache.spark.util.Utils
        self._found: dict[tuple[object, ...], Java] = {}
        self._lock = threading.Lock()

    def type(self, name: str) -> Java:
        """The `java.lang.Class` of that name."""
        return self._once(("type", name), lambda: self._utils.classForName(name, True, False))

    def static(self, class_name: str, method: str, *arguments: Java) -> Java:
        """Call a static method."""
        found = self._method(class_name, method, arguments)
        with java_errors():
            return found.invoke(None, self._array(arguments))

    def virtual(self, class_name: str, method: str, target: Java, *arguments: Java) -> Java:
        """Call a method that a class or interface declares, where py4j doesn't find it itself."""
        found = self._method(class_name, method, arguments)
        with java_errors():
            return found.invoke(target, self._array(arguments))

    def new(self, class_name: str, *arguments: Java) -> Java:
        """Call a constructor."""

        def find() -> Java:
            constructors = self.type(class_name).getConstructors()
            return self._fitting(constructors, arguments, f"new {class_name}")

        found = self._once(("new", class_name, self._shape(arguments)), find)
        with java_errors():
            return found.newInstance(self._array(arguments))

    def singleton(self, class_name: str) -> Java:
        """The one instance that a class's static `get()` gives."""
        return self._once(("singleton", class_name), lambda: self.static(class_name, "get"))

    def getter(self, class_name: str, method: str, returns: Java) -> Java:
        """A `MethodHandle` of a method without arguments."""
        return self._handle(class_name, method, returns)

    def taker(self, class_name: str, method: str, takes: str) -> Java:
        """A `MethodHandle` of a method with one argument that gives its own object back."""
        return self._handle(class_name, method, self.type(class_name), self.type(takes))

    def keep_where(self, items: Java, path: Iterable[Java], values: Iterable[str]) -> None:
        """Drop from a Java list each item whose text, by that chain of getters, isn't in `values`.

        It runs in the JVM as a whole: method handles make a Java predicate, so there is no call
        from Python per item.
        """
        invoke = self._java.lang.invoke
        wanted = self._java.util.HashSet(self._split(values))
        absent = self._absent_from(wanted)
        first, *rest = path
        test = first
        for handle in rest:
            test = invoke.MethodHandles.filterReturnValue(test, handle)
        boolean = self._java.lang.Boolean.TYPE
        text = self.type("java.lang.String")
        narrowed = absent.asType(invoke.MethodType.methodType(boolean, text))
        test = invoke.MethodHandles.filterReturnValue(test, narrowed)
        predicate = invoke.MethodHandleProxies.asInterfaceInstance(
            self.type("java.util.function.Predicate"), test
        )
        self.virtual("java.util.Collection", "removeIf", items, predicate)

    def listed(self, iterable: Java) -> Java:
        """A new `java.util.ArrayList` of everything in a Java iterable, filled in the JVM."""
        items = self._java.util.ArrayList()
        boolean, anything = self._java.lang.Boolean.TYPE, self.type("java.lang.Object")
        self.each(iterable, self._handle("java.util.ArrayList", "add", boolean, anything), items)
        return items

    def each(
        self, iterable: Java, method: Java, target: Java, argument: Java | None = None
    ) -> None:
        """Gives a target's method, as a handle, everything in a Java iterable; runs in the JVM.

        `argument` is a handle that makes the method's argument of an item, which it is by default.
        """
        invoke = self._java.lang.invoke
        bound = method.bindTo(target)
        if argument is not None:
            takes = bound.type().parameterType(0)
            narrow = argument.asType(argument.type().changeReturnType(takes))
            bound = invoke.MethodHandles.filterReturnValue(narrow, bound)
        consumer = invoke.MethodHandleProxies.asInterfaceInstance(
            self.type("java.util.function.Consumer"), bound
        )
        self.virtual("java.lang.Iterable", "forEach", iterable, consumer)

    def listed_of(self, items: Iterable[Java]) -> Java:
        """A new `java.util.ArrayList` of these."""
        listed = self._java.util.ArrayList()
        for item in items:
            listed.add(item)
        return listed

    def bound(self, method: str, target: Java, *arguments: Java) -> Java:
        """A `MethodHandle` without arguments that calls the target's method with those."""
        handles = self._java.lang.invoke.MethodHandles
        with java_errors():
            named = (m for m in target.getClass().getMethods() if m.getName() == method)
            found = self._fitting(named, arguments, method)
            handle = handles.publicLookup().unreflect(found).bindTo(target)
            return handles.insertArguments(handle, 0, self._array(arguments))

    def mapped(self, items: Java, method: str, target: Java, sample: Java) -> Java:
        """A `MethodHandle` that gives, for each of a Scala Seq, what the target's method answers.

        `sample` is one of the items, by which the method is found.
        """
        invoke = self._java.lang.invoke
        with java_errors():
            named = (m for m in target.getClass().getMethods() if m.getName() == method)
            found = self._fitting(named, (sample,), method)
            handle = invoke.MethodHandles.publicLookup().unreflect(found).bindTo(target)
            function = invoke.MethodHandleProxies.asInterfaceInstance(
                self.type("scala.Function1"), handle
            )
        return self.bound("map", items, function)

    def constant(self, target: Java) -> Java:
        """A `MethodHandle` without arguments that gives the object itself."""
        handles = self._java.lang.invoke.MethodHandles
        return handles.constant(self.type("java.lang.Object"), target)

    def shown_array(self, handle: Java) -> Java:
        """The handle's array of objects as text."""
        return self._then(handle, "java.util.Arrays", "toString", "[Ljava.lang.Object;")

    def joined(self, handles: Sequence[Java]) -> Java:
        """A handle that calls all of these, and gives their values as lines of one text."""
        whole = self._text_of(handles[0])
        for handle in handles[1:]:
            whole = self._concatenated(whole, self._text_of(handle))
        return whole

    def equals(self, handle: Java, text: str) -> Java:
        """A `BooleanSupplier`: whether the handle gives that text now."""
        invoke, boolean = self._java.lang.invoke, self._java.lang.Boolean.TYPE
        equal = self._handle("java.lang.String", "equals", boolean, self.type("java.lang.Object"))
        with java_errors():
            bound = equal.bindTo(text).asType(
                invoke.MethodType.methodType(boolean, self.type("java.lang.String"))
            )
            test = invoke.MethodHandles.filterReturnValue(handle, bound)
            supplier = self.type("java.util.function.BooleanSupplier")
            return invoke.MethodHandleProxies.asInterfaceInstance(supplier, test)

    def runnable(self, handle: Java) -> Java:
        """A `Runnable` of a handle without arguments."""
        supplier = self.type("java.lang.Runnable")
        with java_errors():
            return self._java.lang.invoke.MethodHandleProxies.asInterfaceInstance(supplier, handle)

    def scala_object(self, class_name: str) -> Java:
        """A Scala `object`."""
        field = self.type(f"{class_name}$").getField("MODULE$")
        with java_errors():
            return field.get(None)

    def line(self, first: Java) -> PipelinedCalls:
        """A connection for calls whose answers are fetched later; `first` is run as it's made."""
        return PipelinedCalls(self._gateway, first)

    def called(self, handle: Java) -> Java:
        """What a handle without arguments gives."""
        with java_errors():
            return handle.invokeWithArguments(self._java.util.List.of())

    def _text_of(self, handle: Java) -> Java:
        return self._then(handle, "java.lang.String", "valueOf", "java.lang.Object")

    def _concatenated(self, first: Java, second: Java) -> Java:
        """Both texts, each on a line."""
        invoke, text = self._java.lang.invoke, self.type("java.lang.String")
        concat = self._handle("java.lang.String", "concat", text, text)
        line = concat.bindTo(_SEPARATOR)
        second = invoke.MethodHandles.filterReturnValue(second, line)
        both = invoke.MethodHandles.collectArguments(concat, 1, second)
        return invoke.MethodHandles.collectArguments(both, 0, first)

    def _then(self, handle: Java, class_name: str, method: str, takes: str) -> Java:
        """The handle's value given to a static method `takes → String`."""
        invoke, argument = self._java.lang.invoke, self.type(takes)
        kind = invoke.MethodType.methodType(self.type("java.lang.String"), argument)
        with java_errors():
            shown = invoke.MethodHandles.publicLookup().findStatic(
                self.type(class_name), method, kind
            )
            value = handle.asType(invoke.MethodType.methodType(argument))
            return invoke.MethodHandles.filterReturnValue(value, shown)

    def _method(self, class_name: str, method: str, arguments: tuple[Java, ...]) -> Java:
        def find() -> Java:
            methods = self.type(class_name).getMethods()
            named = (each for each in methods if each.getName() == method)
            return self._fitting(named, arguments, f"{class_name}.{method}")

        return self._once(("method", class_name, method, self._shape(arguments)), find)

    def _absent_from(self, wanted: Java) -> Java:
        """A handle `Object → boolean`: true where a Java set doesn't hold the object."""
        invoke = self._java.lang.invoke
        handles, boolean = invoke.MethodHandles, self._java.lang.Boolean.TYPE
        anything = self.type("java.lang.Object")
        contains = self._handle("java.util.Set", "contains", boolean, anything).bindTo(wanted)

        def constant(value: bool) -> Java:
            # dropArguments takes a list of classes: the constant ignores the object.
            classes = self._java.util.List.of(anything)
            return handles.dropArguments(handles.constant(boolean, value), 0, classes)

        no = self._once(("constant", False), lambda: constant(False))
        yes = self._once(("constant", True), lambda: constant(True))
        return handles.guardWithTest(contains, no, yes)

    def _handle(self, class_name: str, method: str, returns: Java, *takes: Java) -> Java:
        def find() -> Java:
            kind = self._java.lang.invoke.MethodType.methodType(returns, *takes)
            lookup = self._java.lang.invoke.MethodHandles.publicLookup()
            return lookup.findVirtual(self.type(class_name), method, kind)

        return self._once(("handle", class_name, method), find)

    def _split(self, values: Iterable[str]) -> Java:
        """A Java list of texts, sent as one string where none of them holds the separator."""
        texts = list(values)
        if any(_SEPARATOR in text for text in texts):
            items = self._java.util.ArrayList()
            for text in texts:
                items.add(text)
            return items
        joined = _SEPARATOR.join(texts)
        split = self.static("java.util.regex.Pattern", "compile", _SEPARATOR).split(joined, -1)
        return self.static("java.util.Arrays", "asList", split)

    def _array(self, arguments: tuple[Java, ...]) -> Java:
        array = self._gateway.new_array(self._gateway.jvm.java.lang.Object, len(arguments))
        for place, argument in enumerate(arguments):
            array[place] = argument
        return array

    def _fitting(self, candidates: Iterable[Java], arguments: tuple[Java, ...], what: str) -> Java:
        for candidate in candidates:
            kinds = candidate.getParameterTypes()
            if len(kinds) == len(arguments) and all(
                self._fits(kind, argument) for kind, argument in zip(kinds, arguments, strict=True)
            ):
                return candidate
        raise JvmError("java.lang.NoSuchMethodException", what)

    def _fits(self, kind: Java, argument: Java) -> bool:
        if isinstance(argument, bool | int):
            return bool(kind.isPrimitive())
        return bool(kind.isInstance(argument))

    def _shape(self, arguments: tuple[Java, ...]) -> tuple[object, ...]:
        """What decides which overload fits: the Java class of each argument."""
        return tuple(
            argument.getClass().getName() if hasattr(argument, "_target_id") else type(argument)
            for argument in arguments
        )

    def _once(self, key: tuple[object, ...], find: Callable[[], Java]) -> Java:
        with self._lock:
            if key in self._found:
                return self._found[key]
        with java_errors():
            found = find()
        with self._lock:
            return self._found.setdefault(key, found)
