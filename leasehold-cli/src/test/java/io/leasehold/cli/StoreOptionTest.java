package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Tests of the selected store, and of the parts of its URI that must never be shown. */
@Tag("quick")
class StoreOptionTest {

    private static String uri(Map<String, String> environment, String... arguments) {
        StoreOption option = new StoreOption();
        CommandLine.Model.CommandSpec spec = CommandLine.Model.CommandSpec.create();
        spec.addMixin("store", CommandLine.Model.CommandSpec.forAnnotatedObject(option));
        new CommandLine(spec).parseArgs(arguments);
        return option.uri(environment);
    }

    @Test
    void takesTheOptionThenTheVariableThenTheDefault() {
        Map<String, String> environment = Map.of(StoreOption.VARIABLE, "redis://b");

        assertThat(uri(environment, "--store", "redis://a")).isEqualTo("redis://a");
        assertThat(uri(environment)).isEqualTo("redis://b");
        assertThat(uri(Map.of(StoreOption.VARIABLE, " "))).isEqualTo("sqlite:");
        assertThat(uri(Map.of())).isEqualTo("sqlite:");
    }

    @Test
    void severalStoresAreTheNodesOfARedlock() {
        assertThat(uri(Map.of(), "--store", "redis://a?x=1&y=2", "--store", "redis://b"))
                .isEqualTo("redlock:?node=redis%3A%2F%2Fa%3Fx%3D1%26y%3D2&node=redis%3A%2F%2Fb");
    }

    @ParameterizedTest
    @CsvSource({
        "redis://:s3cret@host, s3cret",
        "redis://user:s3cret@host:6379/2, s3cret",
        "redis://s3cret@host, s3cret",
        "rediss://user:a%40b%2Fc@host, a%40b%2Fc",
        "rediss://user:a%40b%2Fc@host, a@b/c",
        "redis://user:a@b@host, a@b",
        "jdbc:h2:mem:x;USER=sa;PASSWORD=s3cret;MODE=MySQL, s3cret",
        "jdbc:postgresql://host/db?user=u&password=s3cret&ssl=true, s3cret",
        "redlock:?node=redis%3A%2F%2F%3As3cret%40host, s3cret",
        "redlock:?node=redis%3A%2F%2F%3Aa%252Bb%40host, a+b",
    })
    void findsTheSecretInEverySpelling(String uri, String secret) {
        assertThat(StoreOption.secrets(uri)).contains(secret);
        assertThat(StoreOption.holdsSecret(uri)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite:", "sqlite:/var/lib/locks.db", "redis://host:6379/2", "memory:", "jdbc:h2:mem:x"})
    void leavesUrisWithoutSecretsAlone(String uri) {
        assertThat(StoreOption.secrets(uri)).isEqualTo(List.of());
        assertThat(StoreOption.holdsSecret(uri)).isFalse();
    }

    @Test
    void takesWhatItCannotReadForASecret() {
        assertThat(StoreOption.holdsSecret("no scheme")).isTrue();
    }
}
