package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.common.exception.ErrorCode;
import io.grpc.Status;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.Failure;
import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertificateException;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The failures that may pass with another log-in, and those that do not. */
@Tag("quick")
class FailuresTest {

    private final Failures failures = new Failures(EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:2379")), true);

    private FailureKind kind(Status status) {
        Failure failure = failures.of("acquire of \"n\"", status.asRuntimeException());
        assertThat(failure.error()).isInstanceOf(StoreAccessException.class);
        return failure.kind();
    }

    @Test
    void aRequestThatIsTooLargeIsNotRepeatedForEver() {
        assertThat(kind(Status.INVALID_ARGUMENT.withDescription("etcdserver: request is too large")))
                .isEqualTo(FailureKind.PERMANENT);
    }

    @Test
    void aTokenThatIsNotKnownMayPass() {
        assertThat(kind(Status.UNAUTHENTICATED.withDescription("etcdserver: invalid auth token")))
                .isEqualTo(FailureKind.NO_EFFECT);
    }

    @Test
    void aMemberThatIsNotThereIsSaidInItsOwnWords() {
        Throwable cause = Status.UNAVAILABLE
                .withDescription("io exception")
                .withCause(new IOException("Connection refused: /127.0.0.1:2379"))
                .asRuntimeException();
        assertThat(failures.of("connecting", cause).error())
                .hasMessage(
                        "connecting at etcd://127.0.0.1:2379/leasehold failed: Connection refused: /127.0.0.1:2379");
    }

    @ParameterizedTest
    @CsvSource({
        "UNAVAILABLE, UNKNOWN, StoreUnavailableException",
        "DEADLINE_EXCEEDED, UNKNOWN, StoreUnavailableException",
        "INTERNAL, UNKNOWN, StoreUnavailableException",
        "RESOURCE_EXHAUSTED, NO_EFFECT, StoreUnavailableException",
        "PERMISSION_DENIED, PERMANENT, StoreAccessException",
        "UNAUTHENTICATED, PERMANENT, StoreAccessException",
        "INVALID_ARGUMENT, PERMANENT, StoreAccessException",
        "FAILED_PRECONDITION, PERMANENT, StoreAccessException"
    })
    void whatAnAnswerMeans(Status.Code code, FailureKind kind, String type) {
        Throwable wrapped = new CompletionException(code.toStatus().asRuntimeException());
        Failures without = new Failures(EtcdUri.parse(StoreUri.parse("etcd://localhost/p")), false);
        Failure failure = without.of("acquire", wrapped);
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(failure.error().getClass().getSimpleName()).isEqualTo(type);
        assertThat(failure.error()).hasMessageContaining("acquire at etcd://localhost:2379/p failed");
    }

    /** The driver reports a log-in that no member could answer as a refusal. */
    @ParameterizedTest
    @CsvSource({
        "UNAVAILABLE, NO_EFFECT, StoreUnavailableException, the log-in was not answered",
        "DEADLINE_EXCEEDED, NO_EFFECT, StoreUnavailableException, the log-in was not answered",
        "UNKNOWN, NO_EFFECT, StoreUnavailableException, the log-in was not answered",
        "INVALID_ARGUMENT, PERMANENT, StoreAccessException, refused user",
        "FAILED_PRECONDITION, PERMANENT, StoreAccessException, leave user and password out"
    })
    void whatAnAnswerToALoginMeans(Status.Code code, FailureKind kind, String type, String says) {
        Throwable login = Status.UNAUTHENTICATED
                .withCause(code.toStatus().withDescription("because").asRuntimeException())
                .asRuntimeException();
        Failure failure = of("etcd://me:secret@h/p").of("acquire", new CompletionException(login));
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(failure.error().getClass().getSimpleName()).isEqualTo(type);
        assertThat(failure.error()).hasMessageContaining(says);
    }

    @Test
    void whatIsNoAnswerMeans() {
        Failures without = new Failures(EtcdUri.parse(StoreUri.parse("etcd://localhost/p")), false);
        assertThat(without.of("acquire", new IllegalStateException("x")).kind()).isEqualTo(FailureKind.UNKNOWN);
        StoreUnavailableException down = new StoreUnavailableException("down", null);
        assertThat(without.of("acquire", down)).isEqualTo(new Failure(FailureKind.UNKNOWN, down));
        UnsafeStoreException unsafe = new UnsafeStoreException("unsafe", null);
        assertThat(without.of("acquire", unsafe)).isEqualTo(new Failure(FailureKind.PERMANENT, unsafe));
        assertThat(without.late("acquire", 1_500_000_000L)).hasMessageContaining("not answered within 1500 ms");
    }

    @Test
    void aLeaseIsGoneIfTheClusterSaysSo() {
        assertThat(Failures.isLeaseGone(Status.NOT_FOUND.asRuntimeException())).isTrue();
        assertThat(Failures.isLeaseGone(new CompletionException(Status.NOT_FOUND.asRuntimeException())))
                .isTrue();
        assertThat(Failures.isLeaseGone(Status.UNAVAILABLE.asRuntimeException()))
                .isFalse();
        assertThat(Failures.isLeaseGone(null)).isFalse();
    }

    private static Failures of(String uri) {
        return new Failures(EtcdUri.parse(StoreUri.parse(uri)), false);
    }

    private static String said(Failures failures, Status.Code code) {
        return failures.of("acquire", code.toStatus().withDescription("because").asRuntimeException())
                .error()
                .getMessage();
    }

    @Test
    void aRefusalNamesTheUserAndWhatToDo() {
        assertThat(said(of("etcd://h/p"), Status.Code.PERMISSION_DENIED))
                .contains("the anonymous user lacks a right")
                .contains("readwrite --prefix=true p");
        assertThat(said(of("etcd://me:secret@h/p"), Status.Code.PERMISSION_DENIED))
                .contains("user \"me\" lacks a right")
                .doesNotContain("secret");
        assertThat(said(of("etcd://me:secret@h/p"), Status.Code.UNAUTHENTICATED))
                .contains("refused user \"me\": ")
                .contains("because");
        assertThat(said(failures, Status.Code.PERMISSION_DENIED)).contains("what the credentials provider gave");
        assertThat(said(of("etcd://h/p"), Status.Code.FAILED_PRECONDITION))
                .contains("because")
                .contains("leave user and password out");
        assertThat(said(of("etcd://h/p"), Status.Code.RESOURCE_EXHAUSTED))
                .contains("no room")
                .contains("because");
        assertThat(said(of("etcd://h/p"), Status.Code.UNAVAILABLE))
                .contains("UNAVAILABLE: ")
                .contains("because");
    }

    /** The driver wraps it into an answer of the cluster. */
    @Test
    void whatTlsRefusedIsToldAsThat() {
        SSLException tls = new SSLException("outer", new IllegalStateException("no trusted certificate"));
        Failure failure =
                of("etcd://h/p").of("acquire", Status.UNAVAILABLE.withCause(tls).asRuntimeException());
        assertThat(failure.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(failure.error())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("TLS: no trusted certificate; give the authority")
                .hasCause(tls);
        SSLException bare = new SSLException("broken", new IllegalStateException((String) null));
        assertThat(of("etcd://h/p").of("acquire", bare).error()).hasMessageContaining("TLS: broken;");
    }

    /** Stands for Netty's exception of this name. */
    private static final class SslHandshakeTimeoutException extends SSLHandshakeException {
        private static final long serialVersionUID = 1L;

        SslHandshakeTimeoutException() {
            super("handshake timed out after 10000ms");
        }
    }

    /** A frozen member accepts connections, and is silent in the handshake: who waits waits on. */
    @Test
    void aMemberThatDoesNotAnswerDuringTheHandshakeHasNotRefused() {
        for (SSLException silent : List.of(
                new SslHandshakeTimeoutException(), new SSLException("closed", new EOFException()), (SSLException)
                        new SSLHandshakeException("closed").initCause(new ClosedChannelException()))) {
            Failure failure = of("etcd://h/p")
                    .of(
                            "acquire",
                            Status.UNAVAILABLE
                                    .withDescription("io exception")
                                    .withCause(silent)
                                    .asRuntimeException());
            assertThat(failure.kind()).as(silent.toString()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failure.error()).isInstanceOf(StoreUnavailableException.class);
        }
        SSLException refused = new SSLException("closed", new CertificateException("no path", new IOException()));
        assertThat(of("etcd://h/p").of("acquire", refused).kind()).isEqualTo(FailureKind.PERMANENT);
    }

    @Test
    void withoutCredentialsNothingWasSent() {
        StoreUnavailableException none = new StoreUnavailableException("the provider has none", null);
        Failure failure =
                failures.of("acquire", Status.CANCELLED.withCause(none).asRuntimeException());
        assertThat(failure).isEqualTo(new Failure(FailureKind.NO_EFFECT, none));
    }

    @Test
    void anErrorIsUnwrapped() {
        Throwable inner = new IllegalStateException("inner");
        assertThat(Failure.unwrapped(new CompletionException(new ExecutionException(inner))))
                .isSameAs(inner);
        Throwable alone = new CompletionException("alone", null);
        assertThat(Failure.unwrapped(alone)).isSameAs(alone);
        assertThat(Failures.codeOf(new CompletionException(Status.NOT_FOUND.asException())))
                .isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(Failures.codeOf(inner)).isNull();
        assertThat(of("etcd://h/p").of("acquire", inner).error())
                .hasMessageContaining("IllegalStateException: inner")
                .hasCause(inner);
    }
}
