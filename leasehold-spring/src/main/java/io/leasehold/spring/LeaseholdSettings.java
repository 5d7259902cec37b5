package io.leasehold.spring;

import io.leasehold.Durations;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The settings of all {@link Locked} methods of an application: an immutable value, declared as a bean.
 *
 * <p>Without such a bean {@link #defaults()} apply.
 */
public final class LeaseholdSettings {

    private static final LeaseholdSettings DEFAULTS =
            new LeaseholdSettings(null, Map.of(), OuterTransaction.RELEASE_AFTER_COMPLETION, LintLevel.WARN);

    private final @Nullable Duration maxWait;
    private final Map<String, Duration> maxWaitAt;
    private final OuterTransaction outerTransaction;
    private final LintLevel lint;

    private LeaseholdSettings(
            @Nullable Duration maxWait,
            Map<String, Duration> maxWaitAt,
            OuterTransaction outerTransaction,
            LintLevel lint) {
        this.maxWait = maxWait;
        this.maxWaitAt = maxWaitAt;
        this.outerTransaction = outerTransaction;
        this.lint = lint;
    }

    /** The defaults: no patience, release after an outer transaction, lint findings as warnings. */
    public static LeaseholdSettings defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the patience of methods without their own.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public LeaseholdSettings maxWait(Duration maxWait) {
        return new LeaseholdSettings(notNegative(maxWait), maxWaitAt, outerTransaction, lint);
    }

    /**
     * Sets the patience of methods that name this client and have no patience of their own.
     *
     * @param client as {@link Locked#client()} names it
     * @throws IllegalArgumentException if it is negative
     */
    public LeaseholdSettings maxWait(String client, Duration maxWait) {
        Map<String, Duration> more = new HashMap<>(maxWaitAt);
        more.put(Objects.requireNonNull(client, "client"), notNegative(maxWait));
        return new LeaseholdSettings(this.maxWait, Map.copyOf(more), outerTransaction, lint);
    }

    private static Duration notNegative(Duration maxWait) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait is " + Durations.text(maxWait) + "; it must not be negative");
        }
        return maxWait;
    }

    /** The treatment of calls inside a transaction of the caller. */
    public LeaseholdSettings outerTransaction(OuterTransaction outerTransaction) {
        return new LeaseholdSettings(
                maxWait, maxWaitAt, Objects.requireNonNull(outerTransaction, "outerTransaction"), lint);
    }

    /** The treatment of findings at startup. */
    public LeaseholdSettings lint(LintLevel lint) {
        return new LeaseholdSettings(maxWait, maxWaitAt, outerTransaction, Objects.requireNonNull(lint, "lint"));
    }

    /** The patience of methods without their own, or null: then each method must set its own. */
    public @Nullable Duration maxWait() {
        return maxWait;
    }

    /**
     * The patience of methods that name this client and have no patience of their own, or null: then each method must
     * set its own.
     *
     * @param client as {@link Locked#client()} names it
     */
    public @Nullable Duration maxWait(String client) {
        Duration own = maxWaitAt.get(client);
        return own != null ? own : maxWait;
    }

    /** The treatment of calls inside a transaction of the caller. */
    public OuterTransaction outerTransaction() {
        return outerTransaction;
    }

    /** The treatment of findings at startup. */
    public LintLevel lint() {
        return lint;
    }
}
