package io.leasehold.spring;

import io.leasehold.Durations;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;

/** Finds likely mistakes with locked methods that do not prevent the application from starting. */
final class LockedLint {

    private LockedLint() {}

    /**
     * Findings about the methods of one class.
     *
     * @param proxy the class of the proxy if it implements only the interfaces of the bean, else null
     */
    static List<LintFinding> findings(Class<?> type, @Nullable Class<?> proxy, List<LockedMethod> locked) {
        List<LintFinding> findings = new ArrayList<>();
        for (LockedMethod one : locked) {
            Method method = one.method();
            String unreachable = unreachable(method);
            if (unreachable != null) {
                findings.add(LintFinding.of(
                        method,
                        "is " + unreachable + ", so that no proxy can lock it: it runs without the lock",
                        "Make it a method that can be overridden, or lock with LeaseholdTemplate"));
            } else if (proxy != null && !hasMethod(proxy, method)) {
                findings.add(LintFinding.of(
                        method,
                        "is in no interface of its bean, whose proxy implements only interfaces: it cannot be called through the proxy",
                        "Declare it in an interface, or use @EnableLeasehold(proxyTargetClass = true)"));
            }
            if (BaseStream.class.isAssignableFrom(method.getReturnType())) {
                findings.add(LintFinding.of(
                        method, "returns a stream, which is read after the lock has been released", "Return a List"));
            }
            if (one.fallback() != null && TransactionalCalls.isTransactional(one.fallback())) {
                findings.add(LintFinding.of(
                        method,
                        "has the fallback \"" + one.fallback().getName()
                                + "\", whose @Transactional begins no transaction: its call bypasses the proxy",
                        "Call a @Transactional method of another bean in it, or use a TransactionTemplate"));
            }
            if (TransactionalCalls.needsOuter(method)) {
                findings.add(insideTransaction(method, "needs a transaction of its caller"));
            }
        }
        SelfCalls.in(type, locked.stream().map(LockedMethod::method).toList())
                .forEach((called, caller) -> findings.add(LintFinding.of(
                        called,
                        "is called by " + caller
                                + " of the same object, which bypasses the proxy: such a call runs without the lock",
                        "Call it from another bean, or lock with LeaseholdTemplate")));
        return findings;
    }

    /** Finds locks that are requested inside a transaction, which may already have read data. */
    static List<LintFinding> outerTransactions(Iterable<Class<?>> types, List<LockedMethod> all) {
        List<LintFinding> findings = new ArrayList<>();
        TransactionalCalls.in(types, all.stream().map(LockedMethod::method).toList())
                .forEach((called, caller) -> findings.add(
                        insideTransaction(called, "is called by " + caller + ", which is @Transactional")));
        return findings;
    }

    private static LintFinding insideTransaction(Method method, String why) {
        return LintFinding.of(
                method,
                why
                        + ": its lock is acquired inside that transaction, which may already have read data, and kept until it completes",
                "Lock outside of the transaction, by @Locked on the method that begins it");
    }

    private static @Nullable String unreachable(Method method) {
        int modifiers = method.getModifiers();
        return Modifier.isPrivate(modifiers)
                ? "private"
                : Modifier.isStatic(modifiers) ? "static" : Modifier.isFinal(modifiers) ? "final" : null;
    }

    private static boolean hasMethod(Class<?> proxy, Method method) {
        return Arrays.stream(proxy.getMethods())
                .anyMatch(one -> one.getName().equals(method.getName())
                        && Arrays.equals(one.getParameterTypes(), method.getParameterTypes()));
    }

    /** Finds methods that name the same lock with different kinds, ttls or clients. */
    static List<LintFinding> disagreements(List<LockedMethod> all) {
        List<LintFinding> findings = new ArrayList<>();
        Map<String, LockedMethod> first = new HashMap<>();
        for (LockedMethod one : all) {
            LockedMethod other = first.putIfAbsent(one.naming().template(), one);
            if (other == null) {
                continue;
            }
            if (other.naming().kind().permits() != one.naming().kind().permits()) {
                findings.add(LintFinding.of(
                        one.method(),
                        "names \"" + one.naming().template() + "\" as "
                                + one.naming().kind() + ", and " + LintFinding.shown(other.method()) + " as "
                                + other.naming().kind(),
                        "Permits and a lock of one name do not exclude each other, and all callers state the"
                                + " same number of permits: use two names, or one kind"));
            } else if (!other.client().equals(one.client())) {
                findings.add(disagreement(one, other, "client", other.client(), one.client()));
            } else if (!Objects.equals(other.changes().ttl(), one.changes().ttl())) {
                findings.add(disagreement(
                        one, other, "ttl", other.changes().ttl(), one.changes().ttl()));
            }
        }
        return findings;
    }

    private static LintFinding disagreement(
            LockedMethod one, LockedMethod other, String what, @Nullable Object before, @Nullable Object now) {
        return LintFinding.of(
                one.method(),
                "names the lock \"" + one.naming().template() + "\" with the " + what + " " + shown(now) + ", and "
                        + LintFinding.shown(other.method()) + " names it with the " + what + " " + shown(before),
                what.equals("client")
                        ? "Locks of two clients exclude each other only at the same store: name one client"
                        : "Use one ttl for one lock");
    }

    private static String shown(@Nullable Object value) {
        if (value instanceof Duration duration) {
            return Durations.text(duration);
        }
        return value == null || value.toString().isEmpty() ? "of the default" : value.toString();
    }
}
