package io.leasehold.checks;

import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.AnnotatedTypeVariable;
import java.lang.reflect.AnnotatedWildcardType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Types in Java notation, including nullness; names of java.lang and of one package are short. */
final class TypeText {

    private final String home;

    /** @param home the package whose names are short */
    TypeText(String home) {
        this.home = home;
    }

    String of(AnnotatedType type) {
        String mark = type.isAnnotationPresent(Nullable.class) ? "@Nullable " : "";
        if (type instanceof AnnotatedArrayType array) {
            // The annotation of an array type is before the brackets: String @Nullable []
            return of(array.getAnnotatedGenericComponentType()) + (mark.isEmpty() ? "" : " " + mark) + "[]";
        }
        if (type instanceof AnnotatedParameterizedType parameterized) {
            Class<?> raw = (Class<?>) ((ParameterizedType) type.getType()).getRawType();
            return mark + name(raw) + "<" + list(parameterized.getAnnotatedActualTypeArguments()) + ">";
        }
        if (type instanceof AnnotatedWildcardType wildcard) {
            return mark + wildcard(wildcard);
        }
        if (type instanceof AnnotatedTypeVariable variable) {
            return mark + ((TypeVariable<?>) variable.getType()).getName();
        }
        return mark + name(type.getType());
    }

    String list(AnnotatedType[] types) {
        return Arrays.stream(types).map(this::of).collect(Collectors.joining(", "));
    }

    /** Type parameters with their bounds, in angle brackets; empty if there are none. */
    String parameters(TypeVariable<?>[] variables) {
        if (variables.length == 0) {
            return "";
        }
        return Arrays.stream(variables)
                .map(variable -> variable.getName() + bounds(variable))
                .collect(Collectors.joining(", ", "<", ">"));
    }

    String name(Type type) {
        if (!(type instanceof Class<?> plain)) {
            return type.getTypeName();
        }
        String name = plain.getCanonicalName();
        String packageName = plain.getPackageName();
        boolean brief = packageName.equals("java.lang") || packageName.equals(home);
        return brief && name.startsWith(packageName + ".") ? name.substring(packageName.length() + 1) : name;
    }

    private String bounds(TypeVariable<?> variable) {
        List<String> bounds = Arrays.stream(variable.getAnnotatedBounds())
                .map(this::of)
                .filter(bound -> !bound.equals("Object"))
                .toList();
        return bounds.isEmpty() ? "" : " extends " + String.join(" & ", bounds);
    }

    private String wildcard(AnnotatedWildcardType wildcard) {
        AnnotatedType[] lower = wildcard.getAnnotatedLowerBounds();
        if (lower.length > 0) {
            return "? super " + list(lower);
        }
        String upper = list(wildcard.getAnnotatedUpperBounds());
        return upper.isEmpty() || upper.equals("Object") ? "?" : "? extends " + upper;
    }
}
