package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What may pass by another log-in, and what does not. */
@Tag("quick")
class FailuresTest {

    private final Failures failures = new Failures(EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:2379")), true);

    private FailureKind kind(Status status) {
        Failures.Failure failure = failures.of("acquire of \"n\"", status.asRuntimeException());
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
        Failures.Failure failure = without.of("acquire", wrapped);
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(failure.error().getClass().getSimpleName()).isEqualTo(type);
        assertThat(failure.error()).hasMessageContaining("acquire at etcd://localhost:2379/p failed");
    }

    @Test
    void whatIsNoAnswerMeans() {
        Failures without = new Failures(EtcdUri.parse(StoreUri.parse("etcd://localhost/p")), false);
        assertThat(without.of("acquire", new IllegalStateException("x")).kind()).isEqualTo(FailureKind.UNKNOWN);
        StoreUnavailableException down = new StoreUnavailableException("down", null);
        assertThat(without.of("acquire", down)).isEqualTo(new Failures.Failure(FailureKind.UNKNOWN, down));
        UnsafeStoreException unsafe = new UnsafeStoreException("unsafe", null);
        assertThat(without.of("acquire", unsafe)).isEqualTo(new Failures.Failure(FailureKind.PERMANENT, unsafe));
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
}
