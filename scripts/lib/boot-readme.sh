# shellcheck shell=bash disable=SC2154
# The README's "Five minutes", word for word, on a broker that has nothing but the work queue. Sourced after
# boot-service.sh.

# readme_blocks LANGUAGE - the code in that section which is marked so, without its indentation.
readme_blocks() {
    sed -n '/^## Five minutes/,/^## [^F]/p' "$here/../README.md" |
        awk -v mark="\`\`\`$1" '$1 == mark { inside = 1; next } $1 == "```" { inside = 0 } inside { sub(/^   /, ""); print }'
}

# What is in the work queue, with its headers; it stays there.
look_into_email() {
    inside curl -sS http://guest:guest@127.0.0.1:15672/api/queues/%2F/email/get \
        -d '{"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto"}'
}

came_back() { look_into_email | grep -q '"retryd-attempt":1'; }

follow_the_readme() {
    inside rabbitmq-plugins -q enable rabbitmq_management >&2
    inside curl -sS -u guest:guest -X PUT http://127.0.0.1:15672/api/queues/%2F/email -d '{"durable": true}' >&2
    readme_blocks yaml >"$machine$config"
    readme_blocks sh >"$machine/root/five-minutes"
    inside bash -e /root/five-minutes >"$work/five-minutes" 2>&1 || {
        cat "$work/five-minutes" >&2
        return 1
    }
    cat "$work/five-minutes" >&2
    inside curl -sS --fail http://127.0.0.1:9467/readyz >&2
    await 20 came_back
    echo "$(inside wc -l /root/five-minutes | cut -d ' ' -f 1) lines typed, and the message is back, with retryd-attempt 1"
    inside systemctl disable --now retryd >&2
    inside sh -c 'rabbitmqctl -q stop_app && rabbitmqctl -q reset && rabbitmqctl -q start_app' >&2
}
