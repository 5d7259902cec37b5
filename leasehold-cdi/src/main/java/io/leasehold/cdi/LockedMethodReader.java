package io.leasehold.cdi;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import io.leasehold.spi.method.LeaseSlots;
import io.leasehold.spi.method.LockKind;
import io.leasehold.spi.method.OptionChanges;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;

/** Reads {@link Locked} on one method, and refuses what cannot work. Does not depend on a call. */
final class LockedMethodReader {

    /**
     * Result types whose work continues after the method has returned, with no way to wait for it; named by strings,
     * since most are not on the class path.
     */
    private static final Set<String> ENDS_ELSEWHERE = Set.of(
            "org.reactivestreams.Publisher",
            "io.smallrye.mutiny.Uni",
            "io.reactivex.rxjava3.core.SingleSource",
            "io.reactivex.rxjava3.core.MaybeSource",
            "io.reactivex.rxjava3.core.CompletableSource",
            "io.reactivex.rxjava3.core.ObservableSource",
            "io.vertx.core.Future",
            "kotlinx.coroutines.Job",
            "kotlinx.coroutines.flow.Flow",
            "jakarta.ws.rs.core.StreamingOutput");

    private final Method method;
    private final Locked locked;

    private LockedMethodReader(Method method, Locked locked) {
        this.method = method;
        this.locked = locked;
    }

    /**
     * Reads a method and its annotation.
     *
     * @throws LockedUsageException if that cannot work
     */
    static LockedMethod read(Method method, Locked locked) {
        return new LockedMethodReader(method, locked).read();
    }

    private LockedMethod read() {
        refuseUnreachable();
        boolean isStage = isStage();
        if (locked.onBusy() == OnBusy.SKIP && method.getReturnType().isPrimitive()) {
            refusePrimitiveSkip();
        }
        if (locked.fairness().length > 1) {
            throw refusal("names several kinds of fairness", "Name one");
        }
        LockNaming naming = new LockNaming(method, resolved(locked.name()), kind(), keys());
        return new LockedMethod(
                method,
                isStage,
                naming,
                slots(naming),
                duration("maxWait", locked.maxWait()),
                new OptionChanges(
                        duration("ttl", locked.ttl()),
                        duration("maxHold", locked.maxHold()),
                        duration("atLeast", locked.atLeast()),
                        locked.fairness().length == 0 ? null : locked.fairness()[0]),
                locked.onBusy(),
                fallback(resolved(locked.fallback())),
                locked.onLoss(),
                duration("commitGuard", locked.commitGuard()),
                resolved(locked.client()));
    }

    private LockedUsageException refusal(String problem, String cure) {
        return LockedUsageException.of(method, problem, cure);
    }

    private void refuseUnreachable() {
        int modifiers = method.getModifiers();
        String unreachable = Modifier.isPrivate(modifiers)
                ? "private"
                : Modifier.isStatic(modifiers) ? "static" : Modifier.isFinal(modifiers) ? "final" : null;
        if (unreachable != null) {
            throw refusal(
                    "is " + unreachable + ", so that no interceptor can lock it: it would run without the lock",
                    "Make it a method that can be overridden");
        }
        if (method.getDeclaringClass().isInterface() && LockedTypes.on(method) != null) {
            throw refusal(
                    "belongs to an interface, whose annotations CDI does not read: it would run without the lock",
                    "Write @Locked on the method of the class");
        }
    }

    private void refusePrimitiveSkip() {
        if (method.getReturnType() != void.class) {
            throw refusal(
                    "skips when the lock is busy, and then has no " + method.getReturnType() + " to return",
                    "Return Optional or a type that can be null, or use onBusy = THROW");
        }
    }

    private boolean isStage() {
        Class<?> type = method.getReturnType();
        if (type == CompletionStage.class || type == CompletableFuture.class) {
            return true;
        }
        if (BaseStream.class.isAssignableFrom(type)) {
            throw refusal("returns a stream, which is read after the lock has been released", "Return a List");
        }
        boolean suspends = Arrays.stream(method.getParameterTypes())
                .anyMatch(one -> one.getName().equals("kotlin.coroutines.Continuation"));
        if (suspends || endsElsewhere(type)) {
            throw refusal(
                    (suspends ? "is a suspend function" : "returns " + type.getSimpleName())
                            + ", whose work would continue after the lock has been released",
                    "Return a CompletionStage, or block inside the method");
        }
        return false;
    }

    private static boolean endsElsewhere(@Nullable Class<?> type) {
        return type != null
                && (Future.class.isAssignableFrom(type)
                        // Another type of stage than the two that a method can return: the caller would not get it.
                        || CompletionStage.class.isAssignableFrom(type)
                        || Callable.class.isAssignableFrom(type)
                        || Flow.Publisher.class.isAssignableFrom(type)
                        || ENDS_ELSEWHERE.contains(type.getName())
                        || endsElsewhere(type.getSuperclass())
                        || Arrays.stream(type.getInterfaces()).anyMatch(LockedMethodReader::endsElsewhere));
    }

    private String resolved(String text) {
        try {
            return Settings.resolved(text);
        } catch (IllegalArgumentException e) {
            throw refusal(
                    "says \"" + text + "\", and " + e.getMessage(),
                    Settings.PRESENT
                            ? "Set it, or give it a default: ${name:default}"
                            : "Add MicroProfile Config to the class path, or write the text itself");
        }
    }

    private List<KeyPath> keys() {
        List<KeyPath> marked = new ArrayList<>();
        Parameter[] parameters = method.getParameters();
        for (int i = 0; i < parameters.length; i++) {
            LockKey key = parameters[i].getAnnotation(LockKey.class);
            if (key != null) {
                marked.add(KeyPath.from(method, i, resolved(key.value())));
            }
        }
        if (locked.key().length == 0) {
            return marked;
        }
        if (!marked.isEmpty()) {
            throw refusal("has keys in @Locked and on its parameters", "Write key = … or @LockKey, and not both");
        }
        return Arrays.stream(locked.key())
                .map(text -> KeyPath.named(method, resolved(text)))
                .toList();
    }

    private LockKind kind() {
        String text = resolved(locked.permits()).strip();
        boolean reads = locked.mode() == LockMode.READ;
        if (text.isEmpty()) {
            return reads ? LockKind.READ : LockKind.EXCLUSIVE;
        }
        if (reads) {
            throw refusal("has permits and mode = READ", "Write one of them: permits have neither readers nor writers");
        }
        int count;
        try {
            count = Integer.parseInt(text);
        } catch (NumberFormatException e) {
            count = 0;
        }
        if (count < 1 || count > LockName.MAX_PERMITS) {
            throw refusal(
                    "has permits = \"" + text + "\"",
                    "Write a number from 1 to " + LockName.MAX_PERMITS + ", or nothing for the exclusive lock");
        }
        return LockKind.ofPermits(count);
    }

    private LeaseSlots slots(LockNaming naming) {
        int lease = -1;
        int multiLease = -1;
        int token = -1;
        Parameter[] parameters = method.getParameters();
        for (int i = 0; i < parameters.length; i++) {
            Class<?> type = parameters[i].getType();
            if (type == Lease.class || type == Permit.class) {
                if (type == Permit.class && !naming.kind().isPermit()) {
                    throw refusal(
                            "has a parameter of type Permit, and takes " + naming.kind(),
                            "Write permits = \"5\" with the number of permits, or take a Lease");
                }
                lease = i;
            } else if (type == MultiLease.class) {
                multiLease = i;
            } else if (parameters[i].isAnnotationPresent(FencingToken.class)) {
                if (type != long.class && type != Long.class) {
                    throw refusal("has a @FencingToken of type " + type.getSimpleName(), "Make it a long");
                }
                token = i;
            }
        }
        if (!naming.kind().isExclusive() && (multiLease >= 0 || naming.isAlwaysSeveral())) {
            throw refusal(
                    "takes " + naming.kind() + " of several names",
                    "Take one with @Locked, and another one in a method that the body calls");
        }
        LeaseSlots slots = new LeaseSlots(lease, multiLease, token);
        if (slots.wantOne() && (multiLease >= 0 || naming.isAlwaysSeveral())) {
            throw refusal(
                    "takes several locks, and has a parameter for the lease or the token of one",
                    "Take a MultiLease, and read the token of each name from it");
        }
        return slots;
    }

    private @Nullable Duration duration(String attribute, String text) {
        String resolved = resolved(text).strip();
        if (resolved.isEmpty()) {
            return null;
        }
        try {
            return Settings.parsed(resolved);
        } catch (IllegalArgumentException e) {
            throw refusal(
                    "has " + attribute + " = \"" + resolved + "\", which is not a duration, or is negative",
                    "Write 3s, 500ms, 1m30s or PT3S");
        }
    }

    private @Nullable Method fallback(String name) {
        if (locked.onBusy() != OnBusy.FALLBACK) {
            if (!name.isEmpty()) {
                throw refusal("names a fallback that is never called", "Add onBusy = OnBusy.FALLBACK, or remove it");
            }
            return null;
        }
        List<Class<?>> withBusy = new ArrayList<>(List.of(method.getParameterTypes()));
        withBusy.add(Attempt.Busy.class);
        Method found = found(name, withBusy.toArray(Class<?>[]::new));
        if (found == null) {
            found = found(name, method.getParameterTypes());
        }
        if (found == null || !method.getReturnType().isAssignableFrom(found.getReturnType())) {
            throw refusal(
                    "has the fallback \"" + name
                            + "\", but its class has no such method with the same parameters and result",
                    "Write " + method.getReturnType().getSimpleName() + " " + (name.isEmpty() ? "busy" : name)
                            + "(…) with its parameters, optionally followed by Attempt.Busy");
        }
        found.setAccessible(true);
        return found;
    }

    private @Nullable Method found(String name, Class<?>[] parameters) {
        for (Class<?> type = method.getDeclaringClass(); type != null; type = type.getSuperclass()) {
            try {
                return type.getDeclaredMethod(name, parameters);
            } catch (NoSuchMethodException e) {
                // possibly of a superclass
            }
        }
        return null;
    }
}
