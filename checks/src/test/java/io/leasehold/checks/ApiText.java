package io.leasehold.checks;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The public API of a module as sorted text: every type in the exported packages that other code can name, and the
 * members that it can call, with nullness, sealing, bounds and the values of constants.
 */
final class ApiText {

    private final Module module;

    ApiText(Module module) {
        this.module = module;
    }

    List<String> lines() {
        Map<String, Class<?>> types = new TreeMap<>();
        Set<String> exported = exportedPackages();
        for (Path file : Module.filesBelow(module.classes(), ".class")) {
            String name = className(file);
            if (name.endsWith("-info") || !exported.contains(packageOf(name))) {
                continue;
            }
            Class<?> type = load(name);
            if (isVisible(type)) {
                types.put(type.getCanonicalName(), type);
            }
        }
        return types.values().stream().flatMap(ApiText::describe).toList();
    }

    private static Stream<String> describe(Class<?> type) {
        TypeText text = new TypeText(type.getPackageName());
        Set<String> members =
                new TreeSet<>(Comparator.comparing(ApiText::withoutMarks).thenComparing(line -> line));
        for (Field field : type.getDeclaredFields()) {
            if (isVisible(field) && !field.isEnumConstant()) {
                members.add(
                        modifiers(field) + text.of(field.getAnnotatedType()) + " " + field.getName() + value(field));
            }
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (isVisible(constructor)) {
                members.add(modifiers(constructor) + "new(" + arguments(constructor, text) + ")"
                        + thrown(constructor, text));
            }
        }
        for (Method method : type.getDeclaredMethods()) {
            if (isVisible(method) && !isImplicit(type, method)) {
                String parameters = text.parameters(method.getTypeParameters());
                members.add(modifiers(method) + (parameters.isEmpty() ? "" : parameters + " ")
                        + text.of(method.getAnnotatedReturnType()) + " " + method.getName() + "("
                        + arguments(method, text) + ")" + thrown(method, text));
            }
        }
        // The order of enum constants is part of the API, since they are comparable.
        List<String> constants = type.isEnum()
                ? Arrays.stream(type.getEnumConstants())
                        .map(constant -> ((Enum<?>) constant).name())
                        .toList()
                : List.of();
        return Stream.of(
                        Stream.of("", header(type, text)),
                        constants.isEmpty() ? Stream.<String>empty() : Stream.of("    " + String.join(", ", constants)),
                        members.stream().map(member -> "    " + member))
                .flatMap(lines -> lines);
    }

    private static String header(Class<?> type, TypeText text) {
        StringBuilder line = new StringBuilder();
        line.append(Modifier.isProtected(type.getModifiers()) ? "protected " : "");
        line.append(type.isAnnotationPresent(Deprecated.class) ? "@Deprecated " : "");
        if (type.isSealed()) {
            line.append("sealed ");
        } else if (Modifier.isFinal(type.getModifiers()) && !type.isRecord() && !type.isEnum()) {
            line.append("final ");
        } else if (Modifier.isAbstract(type.getModifiers()) && !type.isInterface()) {
            line.append("abstract ");
        }
        line.append(kind(type)).append(' ').append(type.getCanonicalName());
        line.append(text.parameters(type.getTypeParameters()));
        if (type.isRecord()) {
            line.append(Arrays.stream(type.getRecordComponents())
                    .map(component -> component(component, text))
                    .collect(Collectors.joining(", ", "(", ")")));
        }
        if (type.getSuperclass() != null
                && !type.isRecord()
                && !type.isEnum()
                && type.getSuperclass() != Object.class) {
            line.append(" extends ").append(text.of(type.getAnnotatedSuperclass()));
        }
        if (type.getAnnotatedInterfaces().length > 0 && !type.isAnnotation()) {
            line.append(type.isInterface() ? " extends " : " implements ");
            line.append(text.list(type.getAnnotatedInterfaces()));
        }
        if (type.isSealed()) {
            line.append(Arrays.stream(type.getPermittedSubclasses())
                    .map(text::name)
                    .sorted()
                    .collect(Collectors.joining(", ", " permits ", "")));
        }
        return line.toString();
    }

    private static String component(RecordComponent component, TypeText text) {
        return text.of(component.getAnnotatedType()) + " " + component.getName();
    }

    private static String kind(Class<?> type) {
        if (type.isAnnotation()) {
            return "@interface";
        }
        if (type.isInterface()) {
            return "interface";
        }
        if (type.isEnum()) {
            return "enum";
        }
        return type.isRecord() ? "record" : "class";
    }

    private static String modifiers(Member member) {
        int modifiers = member.getModifiers();
        StringBuilder text = new StringBuilder();
        if (member instanceof java.lang.reflect.AnnotatedElement element
                && element.isAnnotationPresent(Deprecated.class)) {
            text.append("@Deprecated ");
        }
        text.append(Modifier.isProtected(modifiers) ? "protected " : "");
        text.append(Modifier.isStatic(modifiers) ? "static " : "");
        if (member instanceof Method method) {
            boolean inInterface = method.getDeclaringClass().isInterface();
            text.append(Modifier.isAbstract(modifiers) && !inInterface ? "abstract " : "");
            text.append(method.isDefault() ? "default " : "");
        } else if (member instanceof Field) {
            text.append(Modifier.isFinal(modifiers) ? "final " : "");
        }
        return text.toString();
    }

    private static String arguments(Executable executable, TypeText text) {
        String list = text.list(executable.getAnnotatedParameterTypes());
        return executable.isVarArgs() && list.endsWith("[]") ? list.substring(0, list.length() - 2) + "..." : list;
    }

    private static String thrown(Executable executable, TypeText text) {
        String list = Arrays.stream(executable.getExceptionTypes())
                .map(text::name)
                .sorted()
                .collect(Collectors.joining(", "));
        return list.isEmpty() ? "" : " throws " + list;
    }

    private static String value(Field field) {
        boolean constant = Modifier.isStatic(field.getModifiers())
                && Modifier.isFinal(field.getModifiers())
                && (field.getType().isPrimitive() || field.getType() == String.class);
        if (!constant) {
            return "";
        }
        try {
            Object value = field.get(null);
            return " = " + (value instanceof String ? "\"" + value + "\"" : value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("cannot read " + field, e);
        }
    }

    /** Whether the compiler adds the method to every enum or record, or the method adds nothing to the API. */
    private static boolean isImplicit(Class<?> type, Method method) {
        String name = method.getName();
        int parameters = method.getParameterCount();
        if (type.isEnum() && Set.of("values/0", "valueOf/1").contains(name + "/" + parameters)) {
            return true;
        }
        return !type.isInterface()
                && Set.of("toString/0", "hashCode/0", "equals/1").contains(name + "/" + parameters);
    }

    private static boolean isVisible(Member member) {
        return !member.isSynthetic() && isVisible(member.getModifiers(), member.getDeclaringClass());
    }

    private static boolean isVisible(Class<?> type) {
        if (type.isAnonymousClass() || type.isLocalClass() || type.isSynthetic()) {
            return false;
        }
        for (Class<?> current = type; current != null; current = current.getEnclosingClass()) {
            if (!isVisible(
                    current.getModifiers(), current.getEnclosingClass() == null ? type : current.getEnclosingClass())) {
                return false;
            }
        }
        return true;
    }

    /** Other code cannot reach protected members of final classes. */
    private static boolean isVisible(int modifiers, Class<?> owner) {
        return Modifier.isPublic(modifiers)
                || (Modifier.isProtected(modifiers) && !Modifier.isFinal(owner.getModifiers()));
    }

    private Set<String> exportedPackages() {
        Path descriptor = module.classes().resolve("module-info.class");
        if (!Files.exists(descriptor)) {
            return Module.filesBelow(module.classes(), ".class").stream()
                    .map(file -> packageOf(className(file)))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
        try (InputStream in = Files.newInputStream(descriptor)) {
            return ModuleDescriptor.read(in).exports().stream()
                    .filter(export -> !export.isQualified())
                    .map(ModuleDescriptor.Exports::source)
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String className(Path file) {
        String path = module.classes().relativize(file).toString();
        return path.substring(0, path.length() - ".class".length())
                .replace(file.getFileSystem().getSeparator(), ".");
    }

    private static String packageOf(String className) {
        int dot = className.lastIndexOf('.');
        return dot < 0 ? "" : className.substring(0, dot);
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, ApiText.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(name + " is in target/classes and not on the class path of the checks", e);
        }
    }

    /** Sorts members by their names and types, and not by whether they are static or nullable. */
    private static String withoutMarks(String member) {
        return member.replaceAll("(@Nullable|@Deprecated|static|default|abstract|final) ", "")
                .replaceFirst("^(?:<.*?> )?\\S*(?:<[^(]*>)?(?:\\[])* (\\w+)", "$1");
    }
}
