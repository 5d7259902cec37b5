package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import io.leasehold.spi.method.LeaseSlots;
import io.leasehold.spi.method.LockKind;
import io.leasehold.spi.method.OptionChanges;
import io.leasehold.spring.LockedMethod.Style;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.ReflectionUtils;

/** Reads {@link Locked} on a method, and refuses what cannot work. Does not depend on a call. */
final class LockedMethodReader {

    private static final String STAGE_CURE = "Return a CompletionStage, a Mono or a Flux, or block inside the method";

    /**
     * Result types whose work continues after the method has returned, with no way to wait for it; named by strings,
     * since most of them are not on the class path.
     */
    private static final Map<String, String> ENDS_ELSEWHERE = Map.of(
            "io.vertx.core.Future",
            STAGE_CURE,
            "kotlinx.coroutines.Job",
            STAGE_CURE,
            "kotlinx.coroutines.flow.Flow",
            STAGE_CURE,
            "org.springframework.web.context.request.async.DeferredResult",
            STAGE_CURE,
            "org.springframework.web.context.request.async.WebAsyncTask",
            STAGE_CURE,
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
            "Send from a @Locked method of a service that the emitter's thread calls",
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody",
            "Put @Locked on a method of a service that the body calls");

    private final UnaryOperator<String> placeholders;
    private final StandardEvaluationContext expressions;

    /** The durations by their texts, since many methods share a text. */
    private final ConcurrentMap<String, Duration> durations = new ConcurrentHashMap<>();

    LockedMethodReader(UnaryOperator<String> placeholders, StandardEvaluationContext expressions) {
        // Most attributes are empty.
        this.placeholders = text -> text.isEmpty() ? text : placeholders.apply(text);
        this.expressions = expressions;
    }

    /**
     * The content of the annotation.
     *
     * @throws LockedUsageException if that cannot work
     */
    LockedMethod read(Method method, Locked locked) {
        LockNaming naming = LockNaming.of(
                method,
                placeholders.apply(locked.name()),
                kind(method, locked),
                Arrays.stream(locked.key()).map(placeholders).toList(),
                expressions);
        boolean scheduled = AnnotatedElementUtils.isAnnotated(method, Scheduled.class)
                || AnnotatedElementUtils.isAnnotated(method, Schedules.class);
        OnBusy onBusy = locked.onBusy() != OnBusy.DEFAULT ? locked.onBusy() : scheduled ? OnBusy.SKIP : OnBusy.THROW;
        Style style = style(method);
        refusePrimitiveSkip(method, style, onBusy);
        if (locked.fairness().length > 1) {
            throw LintFinding.refusal(method, "names several kinds of fairness", "Name one");
        }
        Duration maxWait = duration(method, "maxWait", locked.maxWait());
        return new LockedMethod(
                method,
                style,
                naming,
                slots(method, naming),
                maxWait == null && scheduled ? Duration.ZERO : maxWait,
                new OptionChanges(
                        duration(method, "ttl", locked.ttl()),
                        duration(method, "maxHold", locked.maxHold()),
                        duration(method, "atLeast", locked.atLeast()),
                        locked.fairness().length == 0 ? null : locked.fairness()[0]),
                onBusy,
                fallback(method, style, onBusy, placeholders.apply(locked.fallback())),
                locked.onLoss(),
                duration(method, "commitGuard", locked.commitGuard()),
                placeholders.apply(locked.client()));
    }

    private static void refusePrimitiveSkip(Method method, Style style, OnBusy onBusy) {
        Class<?> type = method.getReturnType();
        boolean hasNothing =
                style == Style.SUSPENDING ? !Coroutines.canSkip(method) : type.isPrimitive() && type != void.class;
        if (onBusy == OnBusy.SKIP && hasNothing) {
            throw LintFinding.refusal(
                    method,
                    "skips when the lock is busy, and then has no " + (style == Style.SUSPENDING ? "result" : type)
                            + " to return",
                    "Return " + (style == Style.SUSPENDING ? "" : "Optional or ")
                            + "a type that can be null, or use onBusy = THROW");
        }
    }

    private static Style style(Method method) {
        Class<?> type = method.getReturnType();
        if (KotlinDetector.isSuspendingFunction(method)) {
            return suspending(method);
        }
        if (type == CompletionStage.class || type == CompletableFuture.class) {
            return Style.STAGE;
        }
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
        if (adapter != null && adapter.getReactiveType() == type) {
            // The application may have registered it.
            return Style.PUBLISHER;
        }
        // Another type of stage is refused, too: the caller would not get it.
        if (Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                || Callable.class.isAssignableFrom(type)) {
            throw endsElsewhere(method, STAGE_CURE);
        }
        if (adapter != null) {
            String known = adapter.getReactiveType().getSimpleName();
            throw LintFinding.refusal(
                    method,
                    "returns " + type.getSimpleName() + ", and under the lock its caller would get a " + known,
                    "Return " + known);
        }
        String cure = cureFor(type);
        if (cure != null) {
            throw endsElsewhere(method, cure);
        }
        return Style.BLOCKING;
    }

    private static @Nullable String cureFor(@Nullable Class<?> type) {
        if (type == null) {
            return null;
        }
        String cure = ENDS_ELSEWHERE.get(type.getName());
        if (cure == null) {
            cure = cureFor(type.getSuperclass());
        }
        for (Class<?> one : type.getInterfaces()) {
            cure = cure == null ? cureFor(one) : cure;
        }
        return cure;
    }

    private static Style suspending(Method method) {
        if (!Coroutines.arePossible()) {
            throw LintFinding.refusal(
                    method,
                    "is a suspend function, and Spring's support for these is not on the class path",
                    "Add org.jetbrains.kotlinx:kotlinx-coroutines-reactor and org.jetbrains.kotlin:kotlin-reflect");
        }
        if (new MethodParameter(method, -1).getParameterType().getName().equals("kotlinx.coroutines.flow.Flow")) {
            throw LintFinding.refusal(
                    method,
                    "is a suspend function that returns a Flow, whose work would continue after the lock has been released",
                    "Return the Flow from a function that does not suspend");
        }
        return Style.SUSPENDING;
    }

    private static LockedUsageException endsElsewhere(Method method, String cure) {
        return LintFinding.refusal(
                method,
                "returns " + method.getReturnType().getSimpleName()
                        + ", whose work would continue after the lock has been released",
                cure);
    }

    private LockKind kind(Method method, Locked locked) {
        String resolved = placeholders.apply(locked.permits()).strip();
        boolean reads = locked.mode() == LockMode.READ;
        if (resolved.isEmpty()) {
            return reads ? LockKind.READ : LockKind.EXCLUSIVE;
        }
        if (reads) {
            throw LintFinding.refusal(
                    method,
                    "has permits and mode = READ",
                    "Write one of them: permits have neither readers nor writers");
        }
        int count;
        try {
            count = Integer.parseInt(resolved);
        } catch (NumberFormatException e) {
            count = 0;
        }
        if (count < 1 || count > LockName.MAX_PERMITS) {
            throw LintFinding.refusal(
                    method,
                    "has permits = \"" + resolved + "\"",
                    "Write a number from 1 to " + LockName.MAX_PERMITS + ", or nothing for the exclusive lock");
        }
        return LockKind.ofPermits(count);
    }

    private static LeaseSlots slots(Method method, LockNaming naming) {
        int lease = -1;
        int multiLease = -1;
        int token = -1;
        // It also finds annotations of the same parameter in interfaces and superclasses.
        MethodParameter[] annotated = new AnnotatedMethod(method).getMethodParameters();
        Class<?>[] types = method.getParameterTypes();
        for (int i = 0; i < types.length; i++) {
            Class<?> type = types[i];
            if (type == Lease.class || type == Permit.class) {
                refuseNoPermit(method, type, naming);
                lease = i;
            } else if (type == MultiLease.class) {
                multiLease = i;
            } else if (annotated[i].hasParameterAnnotation(FencingToken.class)) {
                if (type != long.class && type != Long.class) {
                    throw LintFinding.refusal(
                            method, "has a @FencingToken of type " + type.getSimpleName(), "Make it a long");
                }
                token = i;
            }
        }
        if (!naming.kind().isExclusive() && (multiLease >= 0 || naming.isAlwaysSeveral())) {
            throw LintFinding.refusal(
                    method,
                    "takes " + naming.kind() + " of several names",
                    "Take one with @Locked, and another one in a method that the body calls");
        }
        LeaseSlots slots = new LeaseSlots(lease, multiLease, token);
        if (slots.wantOne() && (multiLease >= 0 || naming.isAlwaysSeveral())) {
            throw LintFinding.refusal(
                    method,
                    "takes several locks, and has a parameter for the lease or the token of one",
                    "Take a MultiLease, and read the token of each name from it");
        }
        return slots;
    }

    private static void refuseNoPermit(Method method, Class<?> type, LockNaming naming) {
        if (type == Permit.class && !naming.kind().isPermit()) {
            throw LintFinding.refusal(
                    method,
                    "has a parameter of type Permit, and takes " + naming.kind(),
                    "Write permits = \"5\" with the number of permits, or take a Lease");
        }
    }

    private @Nullable Duration duration(Method method, String attribute, String text) {
        String resolved = placeholders.apply(text).strip();
        if (resolved.isEmpty()) {
            return null;
        }
        Duration known = durations.get(resolved);
        if (known != null) {
            return known;
        }
        Duration parsed;
        try {
            parsed = DurationFormatterUtils.detectAndParse(resolved);
        } catch (IllegalArgumentException e) {
            throw badDuration(method, attribute, resolved, "is not a duration");
        }
        if (!parsed.isZero() && resolved.chars().allMatch(Character::isDigit)) {
            throw badDuration(method, attribute, resolved, "has no unit");
        }
        if (parsed.isNegative()) {
            throw badDuration(method, attribute, resolved, "is negative");
        }
        durations.put(resolved, parsed);
        return parsed;
    }

    private static LockedUsageException badDuration(Method method, String attribute, String text, String why) {
        return LintFinding.refusal(
                method, "has " + attribute + " = \"" + text + "\", which " + why, "Write 3s, 500ms, 1m30s or PT3S");
    }

    private static @Nullable Method fallback(Method method, Style style, OnBusy onBusy, String name) {
        if (onBusy != OnBusy.FALLBACK) {
            if (!name.isEmpty()) {
                throw LintFinding.refusal(
                        method, "names a fallback that is never called", "Add onBusy = OnBusy.FALLBACK, or remove it");
            }
            return null;
        }
        List<Class<?>> withBusy = new ArrayList<>(List.of(method.getParameterTypes()));
        // After the parameters; the last one of a suspend function is its continuation.
        withBusy.add(withBusy.size() - (style == Style.SUSPENDING ? 1 : 0), Attempt.Busy.class);
        Class<?> type = method.getDeclaringClass();
        Method found = ReflectionUtils.findMethod(type, name, withBusy.toArray(Class<?>[]::new));
        if (found == null) {
            found = ReflectionUtils.findMethod(type, name, method.getParameterTypes());
        }
        if (name.isEmpty() || found == null || !method.getReturnType().isAssignableFrom(found.getReturnType())) {
            throw LintFinding.refusal(
                    method,
                    "has the fallback \"" + name
                            + "\", but its class has no such method with the same parameters and result",
                    "Write " + method.getReturnType().getSimpleName() + " " + (name.isEmpty() ? "busy" : name)
                            + "(…) with its parameters, optionally followed by Attempt.Busy");
        }
        ReflectionUtils.makeAccessible(found);
        return found;
    }
}
