package io.leasehold.spring;

import io.leasehold.LockName;
import io.leasehold.spi.method.LockKind;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.Expression;
import org.springframework.expression.ExpressionException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelCompilerMode;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.ObjectUtils;

/**
 * The names of the locks of one method: a template, and the expressions that fill it.
 *
 * <p>Immutable; any thread may use it.
 */
final class LockNaming {

    private static final ParameterNameDiscoverer REFLECTED = new DefaultParameterNameDiscoverer();
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{[^}]*}");

    /**
     * Whether a class does not define the text of its objects: then each object would be a lock of its own, and exclude
     * nothing.
     */
    private static final ClassValue<Boolean> NAMELESS = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            try {
                return type.getMethod("toString").getDeclaringClass() == Object.class;
            } catch (NoSuchMethodException e) {
                return false;
            }
        }
    };

    private static final Pattern BY_POSITION = Pattern.compile("[pa]\\d+");

    private final Method method;
    private final String template;
    private final int placeholders;
    private final LockKind kind;

    private final List<Expression> keys;
    private final StandardEvaluationContext shared;
    private final ParameterNameDiscoverer parameters;
    /** The names, if they do not depend on the call. */
    private final @Nullable List<LockName> constant;

    private LockNaming(
            Method method, String template, LockKind kind, List<Expression> keys, StandardEvaluationContext shared) {
        this.method = method;
        this.template = template;
        this.kind = kind;
        this.placeholders = (int) PLACEHOLDER.matcher(template).results().count();
        this.keys = keys;
        this.shared = shared;
        this.parameters = new Known(REFLECTED.getParameterNames(method));
        this.constant = keys.isEmpty() ? List.of(nameWithoutKey()) : null;
    }

    /** The names of one method's parameters, determined once. */
    private static final class Known implements ParameterNameDiscoverer {

        private final String @Nullable [] names;

        Known(String @Nullable [] names) {
            this.names = names;
        }

        @Override
        public String @Nullable [] getParameterNames(Method method) {
            return names;
        }

        @Override
        public String @Nullable [] getParameterNames(Constructor<?> constructor) {
            return null;
        }
    }

    /** The root of an expression. */
    record Root(Method method, @Nullable Object target) {}

    /**
     * The naming of a method.
     *
     * @param name the template, empty for the default
     * @param kind what a call takes of each name
     * @param shared the context that its expressions share with those of other methods, such as the beans
     * @throws LockedUsageException if a key cannot be parsed, names no parameter, or has no place in the name
     */
    static LockNaming of(
            Method method, String name, LockKind kind, List<String> keys, StandardEvaluationContext shared) {
        String template = !name.isEmpty()
                ? name
                : method.getDeclaringClass().getName() + "." + method.getName() + (keys.isEmpty() ? "" : ":{key}");
        SpelExpressionParser parser = new SpelExpressionParser(new SpelParserConfiguration(
                SpelCompilerMode.MIXED, method.getDeclaringClass().getClassLoader()));
        List<Expression> parsed = new ArrayList<>();
        for (String key : keys) {
            parsed.add(parsed(parser, method, key));
        }
        LockNaming naming = new LockNaming(method, template, kind, List.copyOf(parsed), shared);
        naming.refuseMisfit();
        return naming;
    }

    private LockName nameWithoutKey() {
        if (placeholders > 0) {
            throw LintFinding.refusal(
                    method,
                    "has the name \"" + template + "\" and no key for its placeholder",
                    "Write key = \"#parameter\", or a name without {}");
        }
        try {
            return ofKind(LockName.of(template));
        } catch (IllegalArgumentException e) {
            throw LintFinding.refusal(method, "has an invalid name: " + e.getMessage(), "Write another name");
        }
    }

    private LockName ofKind(LockName name) {
        return kind.of(name);
    }

    private void refuseMisfit() {
        if (!keys.isEmpty() && placeholders == 0) {
            throw LintFinding.refusal(
                    method,
                    "has a key, and the name \"" + template + "\" has no place for it",
                    "Write name = \"" + template + ":{}\"");
        }
        if (placeholders > 1 && keys.size() != placeholders) {
            throw LintFinding.refusal(
                    method,
                    "has " + keys.size() + " key(s) for the " + placeholders + " placeholders of \"" + template + "\"",
                    "Write one key for each placeholder, or one placeholder that each key fills");
        }
    }

    private static SpelExpression parsed(SpelExpressionParser parser, Method method, String key) {
        SpelExpression expression;
        try {
            expression = parser.parseRaw(key);
        } catch (ParseException | IllegalStateException | IllegalArgumentException e) {
            throw LintFinding.refusal(
                    method,
                    "has the key \"" + key + "\", which is not valid SpEL: " + e.getMessage(),
                    "Write an expression over the parameters, such as \"#id\"; quote a text as '…'");
        }
        String[] parameters = REFLECTED.getParameterNames(method);
        Set<String> unknown = new TreeSet<>();
        collectVariables(expression.getAST(), unknown);
        unknown.remove("root");
        unknown.remove("this");
        unknown.removeIf(name -> BY_POSITION.matcher(name).matches()
                && Integer.parseInt(name.substring(1)) < method.getParameterCount());
        if (parameters != null) {
            unknown.removeAll(Arrays.asList(parameters));
        }
        if (!unknown.isEmpty()) {
            String name = unknown.iterator().next();
            throw parameters == null
                    ? LintFinding.refusal(
                            method,
                            "has the key \"" + key + "\", and its class was compiled without parameter names",
                            "Compile with -parameters, or write #p0 for the first parameter")
                    : LintFinding.refusal(
                            method,
                            "has the key \"" + key + "\", and #" + name + " is not one of its parameters "
                                    + Arrays.toString(parameters),
                            "Name one of them");
        }
        return expression;
    }

    private static void collectVariables(SpelNode node, Set<String> names) {
        if (node instanceof VariableReference variable) {
            names.add(variable.toStringAST().substring(1));
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            collectVariables(node.getChild(i), names);
        }
    }

    String template() {
        return template;
    }

    /** The kind of lock that a call takes. */
    LockKind kind() {
        return kind;
    }

    /** The names of the locks of every call, or null if they depend on the call. */
    @Nullable
    List<LockName> constant() {
        return constant;
    }

    /** Whether each call has several locks, regardless of its arguments. */
    boolean isAlwaysSeveral() {
        return placeholders == 1 && keys.size() > 1;
    }

    /**
     * The names of the locks of one call.
     *
     * @throws IllegalArgumentException if a key is null, blank or an empty collection, or cannot be evaluated
     */
    List<LockName> of(@Nullable Object target, Object[] arguments) {
        if (constant != null) {
            return constant;
        }
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(new Root(method, target), method, arguments, parameters);
        shared.applyDelegatesTo(context);
        if (placeholders > 1) {
            Object[] parts = new Object[keys.size()];
            for (int i = 0; i < parts.length; i++) {
                parts[i] = part(keys.get(i), value(keys.get(i), context));
            }
            return List.of(ofKind(LockName.of(template, parts)));
        }
        List<LockName> names = new ArrayList<>(keys.size());
        for (Expression key : keys) {
            addNames(names, key, value(key, context));
        }
        return names;
    }

    private void addNames(List<LockName> names, Expression key, Object value) {
        Collection<?> parts = value instanceof Collection<?> several
                ? several
                : value.getClass().isArray() ? Arrays.asList(ObjectUtils.toObjectArray(value)) : List.of(value);
        if (parts.isEmpty()) {
            throw unusable(key, "is an empty collection", null);
        }
        for (Object part : parts) {
            names.add(ofKind(LockName.of(template, part(key, part))));
        }
    }

    private String part(Expression key, @Nullable Object value) {
        if (value == null) {
            throw unusable(key, "is null", null);
        }
        if (value instanceof Collection<?> || value.getClass().isArray()) {
            throw unusable(key, "has several values, but each key fills one placeholder", null);
        }
        if (NAMELESS.get(value.getClass())) {
            throw unusable(
                    key, "is a " + value.getClass().getName() + ", whose text differs from object to object", null);
        }
        String text = value.toString();
        if (text.isBlank()) {
            throw unusable(key, "is blank", null);
        }
        return text;
    }

    private Object value(Expression key, MethodBasedEvaluationContext context) {
        Object value;
        try {
            value = key.getValue(context);
        } catch (ExpressionException e) {
            throw unusable(key, "cannot be evaluated: " + e.getMessage(), e);
        }
        Object present = ObjectUtils.unwrapOptional(value);
        if (present == null) {
            throw unusable(key, "is null", null);
        }
        return present;
    }

    private IllegalArgumentException unusable(Expression key, String why, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                LintFinding.shown(method) + ": the key \"" + key.getExpressionString() + "\" " + why
                        + "; the method has not run, since the wrong lock would guard it",
                cause);
    }
}
