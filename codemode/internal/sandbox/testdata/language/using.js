// => ["open","work","close"]
const trail = [];
const open = () => { trail.push("open"); return { [Symbol.dispose]() { trail.push("close"); } }; };
{
  using handle = open();
  trail.push("work");
}
return trail;
