package io.leasehold.redis;

import io.leasehold.quorum.QuorumSettings;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.StoreAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A parsed {@code redlock:?node=<percent-encoded URI>&node=…&maxTtl=30s&nodeTimeout=50ms}.
 *
 * @param nodes the nodes, in the order of the URI
 * @param settings the other parameters of the URI
 */
record RedlockUri(List<Node> nodes, QuorumSettings settings) {

    private static final String FORM =
            "redlock:?node=redis%3A%2F%2Fa%3A6379&node=redis%3A%2F%2Fb%3A6379&node=redis%3A%2F%2Fc%3A6379&maxTtl=30s";
    private static final Pattern HOSTS = Pattern.compile("//[A-Za-z0-9.-]+(:\\d+)?(,[A-Za-z0-9.-]+(:\\d+)?)*");
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:-]{1,128}");

    /**
     * One node.
     *
     * @param server the deployment of the node
     * @param name the name by which all clients know the node
     * @param durable whether the URI says that the node keeps every acknowledged write
     * @param lifeCheck how the node's birth marker is compared with its present life
     */
    record Node(Deployment server, String name, boolean durable, LifeCheck lifeCheck) {}

    static RedlockUri parse(StoreUri uri) {
        String rest = uri.rest();
        if (!rest.startsWith("?")) {
            throw new IllegalArgumentException("store URI \"" + uri.redacted() + "\": write " + form(rest));
        }
        List<String> texts = new ArrayList<>();
        QuorumSettings settings = QuorumSettings.standard();
        for (String pair : rest.substring(1).split("&", -1)) {
            int equals = pair.indexOf('=');
            String key = equals < 0 ? pair : pair.substring(0, equals);
            String value = equals < 0 ? "" : pair.substring(equals + 1);
            if (!key.equals("node") && pair.indexOf('@') >= 0) {
                // The password of a node contained an unescaped &, which cut the node's URI: this is its rest.
                throw new IllegalArgumentException(
                        "a parameter of a redlock: URI has an @ in it; percent-encode the URI of"
                                + " each node, so that & in it is %26");
            }
            switch (key) {
                case "" -> {}
                case "node" -> texts.add(value);
                case "maxTtl" -> settings = settings.maxTtl(StoreAddress.duration(uri, key, value));
                case "nodeTimeout" -> settings = settings.nodeTimeout(StoreAddress.duration(uri, key, value));
                default ->
                    throw new IllegalArgumentException(
                            "store URI \"" + uri.redacted() + "\": unknown parameter \"" + key
                                    + "\"; known are node, maxTtl, nodeTimeout. A node's own parameters belong inside"
                                    + " its percent-encoded URI");
            }
        }
        return new RedlockUri(
                texts.stream()
                        .map(text -> node(StoreAddress.decoded(uri, text, "URI of a node")))
                        .toList(),
                settings);
    }

    /** The URI to write. If the text names hosts as other schemes do, it is that of these hosts. */
    private static String form(String rest) {
        if (!HOSTS.matcher(rest).matches()) {
            return FORM;
        }
        return Arrays.stream(rest.substring(2).split(",", -1))
                .map(host -> host.contains(":") ? host.replace(":", "%3A") : host + "%3A6379")
                .map(encoded -> "node=redis%3A%2F%2F" + encoded)
                .collect(Collectors.joining("&", "redlock:?", ""));
    }

    /** Reads the URI of one node and removes Leasehold's own parameters from it. */
    static Node node(String text) {
        StoreUri whole = StoreUri.parse(text);
        if (!Deployment.schemes().contains(whole.scheme())) {
            throw new IllegalArgumentException(
                    "node \"" + whole.redacted() + "\" of a redlock: URI must be one Redis: its"
                            + " scheme must be one of "
                            + Deployment.schemes().stream().sorted().collect(Collectors.joining(", ")));
        }
        int question = text.indexOf('?', Math.max(0, text.lastIndexOf('@')));
        StringBuilder rest = new StringBuilder(question < 0 ? text : text.substring(0, question));
        boolean durable = false;
        LifeCheck lifeCheck = LifeCheck.CONNECTION_IF_DIRECT;
        String name = null;
        char joint = '?';
        for (String pair : (question < 0 ? "" : text.substring(question + 1)).split("&", -1)) {
            if (pair.startsWith("durable=")) {
                durable = flag(pair, whole);
            } else if (pair.startsWith("proxy=")) {
                lifeCheck = flag(pair, whole) ? LifeCheck.INFO : LifeCheck.CONNECTION;
            } else if (pair.startsWith("name=")) {
                name = name(pair.substring("name=".length()), whole);
            } else if (!pair.isEmpty()) {
                rest.append(joint).append(pair);
                joint = '&';
            }
        }
        Deployment server = Deployment.parse(StoreUri.parse(rest.toString()));
        if (!server.keys().equals(KeyLayout.standard())) {
            throw new IllegalArgumentException("node \"" + whole.redacted()
                    + "\": the members of a set keep their locks as " + KeyLayout.standard() + "; leave keys= out");
        }
        if (server.isToldAtOnce()) {
            throw new IllegalArgumentException("node \"" + whole.redacted()
                    + "\": toldAtOnce is for one server; of a set, each node would only tell of its own vote;"
                    + " leave it out");
        }
        if (durable && server.kind() != Deployment.Kind.SINGLE) {
            throw new IllegalArgumentException("node \"" + whole.redacted() + "\": durable=true is for a single server;"
                    + " a fail-over loses acknowledged writes, however the servers are configured");
        }
        return new Node(server, name == null ? server.toString() : name, durable, lifeCheck);
    }

    private static boolean flag(String pair, StoreUri whole) {
        String value = pair.substring(pair.indexOf('=') + 1);
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException("node \"" + whole.redacted() + "\": " + pair + " must be true or false");
        }
        return value.equals("true");
    }

    private static String name(String value, StoreUri whole) {
        if (!NAME.matcher(value).matches()) {
            throw new IllegalArgumentException("node \"" + whole.redacted() + "\": name=" + value
                    + " must be made of up to 128 letters, digits, '.', '_', ':' and '-'");
        }
        return value;
    }
}
