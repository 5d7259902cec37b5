package io.leasehold.cdi;

import io.leasehold.Fairness;
import jakarta.enterprise.util.Nonbinding;
import jakarta.interceptor.InterceptorBinding;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs the method while its lock is held; on a class, applies to each of its business methods.
 *
 * <p><b>Guarantee.</b> The lock is acquired before the body, and before a transaction that begins with the method; it
 * is released when the body has ended and that transaction has completed. A transaction that begins inside the body
 * commits only if the lease then has at least {@link #commitGuard} of validity left; otherwise it is rolled back. Only
 * a resource that checks the {@linkplain FencingToken fencing token} detects a pause between that check and the commit.
 * If the lease was lost before the body ended, the call throws {@link io.leasehold.LeaseLostException}.
 *
 * <p><b>Not reentrant.</b> A call inside the body that requests the same lock is refused with an
 * {@link IllegalStateException}.
 *
 * <p>Parameters of type {@link io.leasehold.Lease}, {@link io.leasehold.Permit} (with {@link #permits}), {@link
 * io.leasehold.MultiLease} (several keys) and {@link FencingToken} {@code long} are filled; the caller passes null or 0. Methods may block, or return a
 * {@code CompletionStage}, which acquires without blocking a thread. Other asynchronous types are refused when the
 * application starts.
 *
 * <p>All texts may contain <code>${…}</code>, read from MicroProfile Config. Durations are written as {@code 3s},
 * {@code 500ms}, {@code 1m30s} or {@code PT3S}.
 */
@InterceptorBinding
@Inherited
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {

    /**
     * The template of the name: <code>order:{}</code> or <code>order:{id}</code>, whose placeholder the key fills.
     * Default: package, class and method, and a placeholder if there is a key. All versions of the application that run
     * at the same time must agree on it: if you rename a method with a default name, its old and new versions do not
     * exclude each other.
     */
    @Nonbinding
    String name() default "";

    /**
     * Paths over the parameters: {@code id} is a parameter, {@code order.id} a component of a record, a getter or a
     * method without parameters; or {@link LockKey} on the parameters. They are read once for each call, before
     * acquiring. A null or blank value is refused. If the name has one placeholder, then several keys, or a key whose
     * value is a collection or an array, name several locks, which are acquired all or none. If it has several
     * placeholders, each key fills one.
     */
    @Nonbinding
    String[] key() default {};

    /**
     * The patience of the caller, never a ttl. Zero means one round trip. Default: {@code leasehold.defaults.max-wait}
     * of MicroProfile Config; if neither is set, the application does not start.
     */
    @Nonbinding
    String maxWait() default "";

    /** See {@link io.leasehold.LockOptions#ttl(java.time.Duration)}. Default: the client's. */
    @Nonbinding
    String ttl() default "";

    /** See {@link io.leasehold.LockOptions#maxHold(java.time.Duration)}. Default: the client's. */
    @Nonbinding
    String maxHold() default "";

    /** See {@link io.leasehold.LockOptions#atLeast(java.time.Duration)}, for jobs that several machines start. Default: the client's. */
    @Nonbinding
    String atLeast() default "";

    /** See {@link io.leasehold.LockOptions#fairness(Fairness)}; at most one. Default: the client's. */
    @Nonbinding
    Fairness[] fairness() default {};

    /**
     * The number of {@linkplain io.leasehold.Permits permits} with this name, such as {@code 5}: the method takes one of
     * them, and not the exclusive lock. All methods and applications that name these permits must state the same
     * number. Default: the exclusive lock.
     */
    @Nonbinding
    String permits() default "";

    /**
     * How the method takes the lock: alone, or as one of its {@linkplain io.leasehold.SharedLock readers}. Not together
     * with {@link #permits}.
     */
    @Nonbinding
    LockMode mode() default LockMode.WRITE;

    /** The behaviour if the lock stays busy. */
    @Nonbinding
    OnBusy onBusy() default OnBusy.THROW;

    /**
     * For {@link OnBusy#FALLBACK}: a method of the same class with the same parameters, optionally followed by
     * {@link io.leasehold.Attempt.Busy}.
     */
    @Nonbinding
    String fallback() default "";

    /** The treatment of the body if the lease is lost. */
    @Nonbinding
    OnLoss onLoss() default OnLoss.INTERRUPT;

    /**
     * The minimum validity of the lease for a commit inside the body. With less, the lease is renewed once; if that is
     * not enough, the transaction is rolled back. Default: 2 × {@link io.leasehold.LockOptions#nodeTimeout()}.
     */
    @Nonbinding
    String commitGuard() default "";

    /**
     * The {@link jakarta.inject.Named} value of the {@link io.leasehold.LockClient}. Default: the client without
     * further qualifiers.
     */
    @Nonbinding
    String client() default "";
}
