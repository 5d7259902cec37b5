package io.leasehold.etcd;

import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.etcd.jetcd.lease.NoSuchLeaseException;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.TimedReplies;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Translates the driver's errors for the caller. */
final class Failures implements TimedReplies.Errors {

    /** Netty's exceptions for a handshake without an answer and for a connection that has ended. */
    private static final Set<String> PASSING_TLS = Set.of("SslHandshakeTimeoutException", "SslClosedEngineException");

    private final String cluster;
    private final String prefix;
    private final @Nullable String user;
    private final boolean withProvider;

    /**
     * Creates the translation for a cluster.
     *
     * @param withProvider whether the next log-in may have other credentials
     */
    Failures(EtcdUri uri, boolean withProvider) {
        this.withProvider = withProvider;
        this.cluster = uri.toString();
        this.prefix = uri.prefix();
        this.user = uri.user();
    }

    /** The error code of the driver, or null if the error is not from the driver. */
    static @Nullable ErrorCode codeOf(@Nullable Throwable error) {
        Throwable cause = error == null ? null : Failure.unwrapped(error);
        if (cause instanceof StatusRuntimeException || cause instanceof StatusException) {
            cause = EtcdExceptionFactory.toEtcdException(cause);
        }
        return cause instanceof EtcdException failed ? failed.getErrorCode() : null;
    }

    /** Whether a lease of etcd has ended. */
    static boolean isLeaseGone(@Nullable Throwable error) {
        return codeOf(error) == ErrorCode.NOT_FOUND
                || (error != null && Failure.unwrapped(error) instanceof NoSuchLeaseException);
    }

    @Override
    public Failure of(String what, Throwable error) {
        Throwable cause = Failure.unwrapped(error);
        if (cause instanceof LockStoreException known) {
            boolean passing = known instanceof StoreUnavailableException;
            return new Failure(passing ? FailureKind.UNKNOWN : FailureKind.PERMANENT, known);
        }
        // A provider without credentials has ended the log-in.
        StoreUnavailableException noLogin = find(StoreUnavailableException.class, cause);
        if (noLogin != null) {
            return new Failure(FailureKind.NO_EFFECT, noLogin);
        }
        ErrorCode code = codeOf(cause);
        SSLException tls = find(SSLException.class, cause);
        if (tls != null && isRefusal(tls)) {
            return Failure.access(
                    what + " at " + cluster + " failed: TLS: " + Failure.reason(tls)
                            + "; give the authority of the cluster's"
                            + " certificate with ca=FILE, and name the members as their certificates do",
                    tls);
        }
        String said = String.valueOf(cause.getMessage());
        String at = what + " at " + cluster + " failed: ";
        ErrorCode login = loginCode(cause);
        if (login == ErrorCode.FAILED_PRECONDITION) {
            code = login;
        } else if (login != null && login != ErrorCode.INVALID_ARGUMENT) {
            // The request itself was not sent.
            return Failure.unavailable(
                    FailureKind.NO_EFFECT, at + "the log-in was not answered: " + login + ": " + said, cause);
        }
        if (code == null) {
            return Failure.unavailable(FailureKind.UNKNOWN, at + cause, cause);
        }
        return switch (code) {
            case PERMISSION_DENIED ->
                Failure.access(
                        at + who() + " lacks a right; it needs readwrite on the prefix \"" + prefix
                                + "\" (etcdctl role grant-permission ROLE readwrite --prefix=true " + prefix + ")",
                        cause);
            case UNAUTHENTICATED, INVALID_ARGUMENT -> {
                Failure refused = Failure.access(at + "the cluster refused " + who() + ": " + said, cause);
                // The code also means that a request is malformed or too large, which another log-in does not change.
                boolean isLogin = code == ErrorCode.UNAUTHENTICATED || find(Login.Refused.class, cause) != null;
                // Provider and cluster do not change credentials at the same moment: the next log-in may have the new
                // ones.
                boolean mayPass = withProvider && isLogin;
                yield mayPass ? new Failure(FailureKind.NO_EFFECT, refused.error()) : refused;
            }
            case FAILED_PRECONDITION ->
                Failure.access(
                        at + "the cluster does not accept this request: " + said
                                + "; if authentication is not enabled there, leave user and password out of the store"
                                + " URI",
                        cause);
            case RESOURCE_EXHAUSTED ->
                Failure.unavailable(
                        FailureKind.NO_EFFECT, at + "the cluster has no room or is overloaded: " + said, cause);
            default -> {
                // The driver says "UNAVAILABLE: io exception"; the actual error is at the end of its causes.
                IOException io = find(IOException.class, cause);
                yield Failure.unavailable(
                        FailureKind.UNKNOWN, at + (io == null ? code + ": " + said : Failure.reason(io)), cause);
            }
        };
    }

    /**
     * Whether the two sides do not accept each other. Otherwise the member was silent during the handshake, or the
     * connection ended: the next one may succeed, and a request on this one may have had an effect.
     */
    private static boolean isRefusal(SSLException tls) {
        if (find(CertificateException.class, tls) != null) {
            return true;
        }
        for (Throwable cause = tls; cause != null; cause = cause.getCause()) {
            boolean connectionEnded = cause instanceof IOException && !(cause instanceof SSLException);
            if (connectionEnded || PASSING_TLS.contains(cause.getClass().getSimpleName())) {
                return false;
            }
        }
        return true;
    }

    /**
     * The code of the answer to a log-in, or null if no log-in has failed: the driver reports each failure of it as a
     * refusal, even if no member could answer, with the failure as its cause.
     */
    private static @Nullable ErrorCode loginCode(Throwable cause) {
        if (codeOf(cause) != ErrorCode.UNAUTHENTICATED) {
            return null;
        }
        for (Throwable inner = cause.getCause(); inner != null; inner = inner.getCause()) {
            ErrorCode code = codeOf(inner);
            if (code != null && code != ErrorCode.UNAUTHENTICATED) {
                return code;
            }
        }
        return null;
    }

    /** The first of this type among an error and its causes, or null. */
    private static <T extends Throwable> @Nullable T find(Class<T> type, Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return type.cast(cause);
            }
        }
        return null;
    }

    @Override
    public LockStoreException late(String what, long limitNanos) {
        return new StoreUnavailableException(
                what + " at " + cluster + " was not answered within " + limitNanos / 1_000_000
                        + " ms; check that a majority of its members is up and reachable",
                null);
    }

    private String who() {
        if (withProvider) {
            return "what the credentials provider gave";
        }
        return user == null ? "the anonymous user" : "user \"" + user + "\"";
    }
}
