package io.leasehold.spring;

import io.leasehold.Fairness;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The method runs while its lock is held.
 *
 * <p><b>Guarantee.</b> The lock is acquired before the body, and before a transaction that begins with the method; it is released
 * when the body has ended and that transaction has completed. A transaction inside the body commits only if the lease has {@link
 * #commitGuard} of validity left at that moment; else it is rolled back. A pause between that check and the commit is caught
 * only by a resource that checks the {@linkplain FencingToken fencing token}. A call that leaves the body after the lease was
 * lost throws {@link io.leasehold.LeaseLostException}.
 *
 * <p><b>Not reentrant.</b> A call inside the body that asks for the same lock is refused with an {@link IllegalStateException}.
 *
 * <p>Parameters of type {@link io.leasehold.Lease}, {@link io.leasehold.MultiLease} (several keys) and {@link FencingToken}
 * {@code long} are filled; the caller passes null or 0. Methods may block, or return a {@code CompletionStage}, {@code Mono},
 * {@code Flux} or what Spring adapts to a publisher, or be suspend functions: these acquire without a thread. Other asynchronous types are refused when
 * the application starts.
 *
 * <p>All texts take <code>${…}</code>. Durations are written as {@code 3s}, {@code 500ms}, {@code 1m30s} or {@code PT3S}.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {

    /**
     * The template of the name: <code>order:{}</code> or <code>order:{id}</code>, whose placeholder the key fills. Default: package, class
     * and method, and a placeholder if there is a key. It is a contract between all versions of the application that run at the
     * same time, so a method with a default name that is renamed is locked apart from its old version.
     */
    String name() default "";

    /**
     * SpEL over the parameters ({@code #order.id}, {@code #p0}, {@code #root.target}, {@code @bean}), evaluated once for each call, before acquiring. A null or
     * blank value is refused. Where the name has one placeholder, several keys, or a key whose value is a collection or an array,
     * are several locks, acquired all or none; where it has several placeholders, each key fills one.
     */
    String[] key() default {};

    /**
     * The patience of the caller, never a ttl. Zero is one round trip. Default: zero on a {@code @Scheduled} method, else {@link
     * LeaseholdSettings#maxWait()}; without either the application does not start.
     */
    String maxWait() default "";

    /** See {@link io.leasehold.LockOptions#ttl(java.time.Duration)}. Default: the client's. */
    String ttl() default "";

    /** See {@link io.leasehold.LockOptions#maxHold(java.time.Duration)}. Default: the client's. */
    String maxHold() default "";

    /** See {@link io.leasehold.LockOptions#atLeast(java.time.Duration)}, for jobs that several machines start. Default: the client's. */
    String atLeast() default "";

    /** See {@link io.leasehold.LockOptions#fairness(Fairness)}; at most one. Default: the client's. */
    Fairness[] fairness() default {};

    /** The treatment of a call whose lock stays busy. */
    OnBusy onBusy() default OnBusy.DEFAULT;

    /**
     * For {@link OnBusy#FALLBACK}: a method of the same class with the same parameters, or with {@link
     * io.leasehold.Attempt.Busy} as one more at the end.
     */
    String fallback() default "";

    /** The treatment of the body once the lease is lost. */
    OnLoss onLoss() default OnLoss.INTERRUPT;

    /**
     * How much validity a lease needs for a commit inside the body; with less it is renewed once, and with still less the transaction
     * is rolled back. Default: 2 × {@link io.leasehold.LockOptions#nodeTimeout()}.
     */
    String commitGuard() default "";

    /** The name of the bean of the {@link io.leasehold.LockClient}. Default: the only one, or the primary one; never one that is no default candidate. */
    String client() default "";
}
