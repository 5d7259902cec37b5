package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The message in place of the driver's log-in, and the interpretation of its answer. */
@Tag("quick")
class LoginTest {

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final Wire wire = new Wire();

    @AfterEach
    void close() {
        runtime.close();
    }

    /** The messages on the connection. */
    private static final class Wire extends Channel {
        private final List<Object> sent = new ArrayList<>();
        private volatile boolean halfClosed;
        private volatile @Nullable Throwable cancelled;
        private volatile @Nullable Throwable broken;
        private ClientCall.@Nullable Listener<?> listener;

        @Override
        public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
            return new ClientCall<>() {
                @Override
                public void start(Listener<A> heard, Metadata headers) {
                    listener = heard;
                }

                @Override
                public void request(int messages) {}

                @Override
                public void cancel(@Nullable String message, @Nullable Throwable cause) {
                    cancelled = cause;
                }

                @Override
                public void halfClose() {
                    halfClosed = true;
                }

                @Override
                public void sendMessage(Q message) {
                    if (broken != null) {
                        if (broken instanceof Error error) {
                            throw error;
                        }
                        throw (RuntimeException) broken;
                    }
                    sent.add(message);
                }
            };
        }

        @Override
        public String authority() {
            return "nowhere";
        }

        void answer(Status status) {
            Objects.requireNonNull(listener).onClose(status, new Metadata());
        }
    }

    private static final class Heard<A> extends ClientCall.Listener<A> {
        private @Nullable Status status;

        @Override
        public void onClose(Status closed, Metadata trailers) {
            status = closed;
        }
    }

    private <Q, A> Heard<A> call(CredentialsProvider provider, MethodDescriptor<Q, A> method, Q message) {
        Login login = new Login(new CredentialsDesk(provider, "etcd://h", runtime));
        ClientCall<Q, A> call = login.interceptCall(method, CallOptions.DEFAULT, wire);
        Heard<A> heard = new Heard<>();
        call.start(heard, new Metadata());
        call.sendMessage(message);
        call.halfClose();
        return heard;
    }

    private Heard<AuthenticateResponse> logIn(CredentialsProvider provider) throws InterruptedException {
        AuthenticateRequest standIn = AuthenticateRequest.newBuilder()
                .setName(Login.STAND_IN)
                .setPassword(Login.STAND_IN)
                .build();
        Heard<AuthenticateResponse> heard = call(provider, AuthGrpc.getAuthenticateMethod(), standIn);
        long start = System.nanoTime();
        while (!wire.halfClosed && wire.cancelled == null && System.nanoTime() - start < 30_000_000_000L) {
            Thread.sleep(1);
        }
        return heard;
    }

    @Test
    void aLogInCarriesWhatTheProviderGives() throws Exception {
        logIn(() -> Credentials.of("me", "s\u00e9cret"));
        assertThat(wire.sent).singleElement().isInstanceOfSatisfying(AuthenticateRequest.class, sent -> {
            assertThat(sent.getName()).isEqualTo("me");
            assertThat(sent.getPassword()).isEqualTo("s\u00e9cret");
        });
        assertThat(wire.halfClosed).isTrue();
        assertThat(wire.cancelled).isNull();
    }

    @Test
    void aProviderMayNameNoUser() throws Exception {
        logIn(() -> Credentials.ofPassword("secret"));
        assertThat(wire.sent)
                .singleElement()
                .isInstanceOfSatisfying(
                        AuthenticateRequest.class,
                        sent -> assertThat(sent.getName()).isEmpty());
    }

    @Test
    void whatIsNoLogInIsLeftAsItIs() {
        RangeRequest request = RangeRequest.newBuilder().setLimit(7).build();
        Heard<RangeResponse> heard = call(
                () -> {
                    throw new IllegalStateException("asked for nothing");
                },
                KVGrpc.getRangeMethod(),
                request);
        assertThat(wire.sent).containsExactly(request);
        assertThat(wire.halfClosed).isTrue();
        wire.answer(Status.INVALID_ARGUMENT);
        assertThat(Objects.requireNonNull(heard.status).getCause())
                .as("another request that is malformed")
                .isNull();
    }

    @Test
    void withoutCredentialsTheCallEndsWithTheReason() throws Exception {
        logIn(() -> {
            throw new IllegalStateException("the vault is shut");
        });
        assertThat(wire.sent).isEmpty();
        assertThat(wire.halfClosed).isFalse();
        assertThat(wire.cancelled).isInstanceOf(StoreUnavailableException.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aLogInThatCannotBeSentEndsTheCall(boolean error) throws Exception {
        Throwable broken = error
                ? new StackOverflowError("made by the test")
                : new IllegalStateException("the connection is closed");
        wire.broken = broken;
        logIn(() -> Credentials.of("me", "secret"));
        assertThat(wire.cancelled).isSameAs(broken);
    }

    @Test
    void aRefusedLogInIsToldFromOtherRefusals() throws Exception {
        Heard<AuthenticateResponse> heard = logIn(() -> Credentials.of("me", "secret"));
        wire.answer(Status.INVALID_ARGUMENT);
        Status refused = Objects.requireNonNull(heard.status);
        assertThat(refused.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(refused.getCause()).isInstanceOf(Login.Refused.class);
        Status unavailable = Status.UNAVAILABLE.withDescription("later");
        wire.answer(unavailable);
        assertThat(heard.status).isSameAs(unavailable);
    }

    /** Another log-in may succeed if the provider gives other credentials then. */
    @Test
    void aRefusedLogInMayPassAndAnotherRefusalDoesNot() throws Exception {
        Heard<AuthenticateResponse> heard = logIn(() -> Credentials.of("me", "secret"));
        wire.answer(Status.INVALID_ARGUMENT);
        Failures failures = new Failures(EtcdUri.parse(StoreUri.parse("etcd://h")), true);
        Status refused = Objects.requireNonNull(heard.status);
        assertThat(failures.of("acquire", refused.asRuntimeException()).kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(failures.of("acquire", Status.INVALID_ARGUMENT.asRuntimeException())
                        .kind())
                .isEqualTo(FailureKind.PERMANENT);
    }
}
